/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/draft.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "wire/job/script_text.h"

enum { ARGUMENTS_MAX = 65536, INTERPRETER_MAX = 255 };

static int add_arguments(const struct draft_source *source, const char *key, size_t *count,
                         char ***argv)
{
    const struct scope_layer *layer = &source->scope->layers[0];
    const json_t *list = reader_get(layer->object, key);
    char buffer[READER_SCALAR_SIZE];

    if (!list)
        return 0;
    if (!json_is_array(list))
        return reader_fail(&layer->reader, -EINVAL, layer->object, key,
                           "expected a list of strings, not %s", reader_kind(list));
    size_t more = json_array_size(list);
    if (more > ARGUMENTS_MAX)
        return reader_fail(&layer->reader, -E2BIG, layer->object, key,
                           "%zu arguments, at most %d are accepted", more, ARGUMENTS_MAX);
    *argv = mem_resize(*argv, *count + more + 1, sizeof((*argv)[0]));
    for (size_t i = 0; i < more; i++) {
        const json_t *item = json_array_get(list, i);

        if (!json_is_string(item) && !json_is_number(item))
            return reader_fail(&layer->reader, -EINVAL, layer->object, key,
                               "expected strings, not %s", reader_kind(item));
        const char *text =
            json_is_string(item) ? json_string_value(item) : number_spell(item, buffer);
        char *word = draft_substitute(source, layer, key, text, SUBMISSION_STRING_MAX);
        if (!word)
            return -EINVAL;
        (*argv)[(*count)++] = word;
        (*argv)[*count] = NULL;
    }
    return 0;
}

static void add_word(char ***argv, size_t *count, const char *word)
{
    *argv = mem_resize(*argv, *count + 2, sizeof((*argv)[0]));
    (*argv)[(*count)++] = mem_string(word);
    (*argv)[*count] = NULL;
}

static int read_run(const struct draft_source *source, size_t *count, char ***argv)
{
    const struct scope_layer *layer = &source->scope->layers[0];
    const char *run = NULL;

    int code = reader_string(&layer->reader, layer->object, "run", SUBMISSION_STRING_MAX, &run);
    if (code < 0)
        return code;
    if (run[0] == '\0')
        return reader_fail(&layer->reader, -EINVAL, layer->object, "run", "nothing to run");
    AUTO_FREE char *text = draft_substitute(source, layer, "run", run, SUBMISSION_STRING_MAX);
    if (!text)
        return -EINVAL;
    add_word(argv, count, "/bin/sh");
    add_word(argv, count, "-c");
    add_word(argv, count, text);
    if (reader_get(layer->object, "args"))
        add_word(argv, count, "sh"); /* $0 */
    return 0;
}

/* The words of "#!/usr/bin/env -S python3 -u": a program and, as the kernel has it, all the rest
 * as one argument. */
static int add_interpreter(const struct draft_source *source, const char *script, size_t *count,
                           char ***argv)
{
    const struct scope_layer *layer = &source->scope->layers[0];
    static const char blanks[] = " \t\r";
    size_t line = strcspn(script, "\n");

    if (strncmp(script, "#!", 2) != 0 || line > INTERPRETER_MAX)
        return reader_fail(&layer->reader, -EINVAL, layer->object, "script",
                           "expected '#!' and an interpreter on its first line, as in #!/bin/sh");
    AUTO_FREE char *words = mem_string_of(script + 2, line - 2);
    char *program = words + strspn(words, blanks);
    char *rest = program + strcspn(program, blanks);
    if (*rest)
        *rest++ = '\0';
    rest += strspn(rest, blanks);
    size_t length = strlen(rest);
    while (length > 0 && strchr(blanks, rest[length - 1]))
        rest[--length] = '\0';
    if (program[0] != '/')
        return reader_fail(&layer->reader, -EINVAL, layer->object, "script",
                           "interpreter '%.60s' on its first line: expected an absolute path",
                           program);
    add_word(argv, count, program);
    if (length > 0)
        add_word(argv, count, rest);
    return 0;
}

static int read_script(const struct draft_source *source, struct job_draft *draft, size_t *count)
{
    const struct scope_layer *layer = &source->scope->layers[0];
    const char *key = reader_get(layer->object, "script") ? "script" : "script_bytes";
    const char *text = NULL;

    /* A byte has two bytes in script_bytes. */
    int code = reader_string(&layer->reader, layer->object, key, 2 * SUBMISSION_SCRIPT_MAX, &text);
    if (code < 0)
        return code;
    AUTO_FREE char *script = key[6] ? script_text_decode(text) : mem_string(text);
    if (!script)
        return reader_fail(&layer->reader, -EINVAL, layer->object, key,
                           "expected characters up to U+00FF, each for a byte");
    if (strlen(script) > SUBMISSION_SCRIPT_MAX)
        return reader_fail(&layer->reader, -E2BIG, layer->object, key, "longer than %d bytes",
                           SUBMISSION_SCRIPT_MAX);
    code = add_interpreter(source, script, count, &draft->argv);
    if (code < 0)
        return code;
    draft->script = TAKE(script);
    draft->script_at = *count;
    add_word(&draft->argv, count, "script");
    return 0;
}

int command_read(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *layer = &source->scope->layers[0];
    bool has_run = reader_get(layer->object, "run"),
         has_script = reader_get(layer->object, "script"),
         has_bytes = reader_get(layer->object, "script_bytes");
    bool has_command = reader_get(layer->object, "command");
    size_t count = 0;
    int code;

    if (has_run + has_script + has_bytes + has_command != 1)
        return reader_fail(&layer->reader, -EINVAL, layer->object, NULL,
                           "%s; expected one of run, command and script",
                           has_run || has_script || has_bytes || has_command
                               ? "more than one thing to run"
                               : "nothing to run");
    draft->argv = mem_zero(1, sizeof(draft->argv[0]));
    if (has_run)
        code = read_run(source, &count, &draft->argv);
    else if (has_script || has_bytes)
        code = read_script(source, draft, &count);
    else
        code = add_arguments(source, "command", &count, &draft->argv);
    if (code < 0)
        return code;
    if (count == 0 || draft->argv[0][0] == '\0')
        return reader_fail(&layer->reader, -EINVAL, layer->object, "command",
                           "expected a program and its arguments");
    return add_arguments(source, "args", &count, &draft->argv);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static const struct launcher {
    const char *name, *word, *flags;
    int operands;
} launchers[] = {
#define LAUNCHER(name, word, flags, operands) { name, word, flags, operands },
#include "wire/job/launchers.def"
};

/* "python3.11" is python. */
static const struct launcher *find_launcher(char *const *words)
{
    const char *program = base_name(words[0]);
    size_t length = strlen(program);

    while (length > 0 && strchr("0123456789.", program[length - 1]))
        length--;
    for (size_t i = 0; i < COUNT_OF(launchers); i++) {
        const struct launcher *launcher = &launchers[i];
        bool is_named =
            strlen(launcher->name) == length && strncmp(program, launcher->name, length) == 0;
        if (is_named && (!launcher->word || (words[1] && strcmp(words[1], launcher->word) == 0)))
            return launcher;
    }
    return NULL;
}

/* "-n10" and "--n=10" have it in the same word; a word behind "-np" is one. */
static bool has_value_behind(const struct launcher *launcher, const char *option)
{
    AUTO_FREE char *spaced = mem_printf(" %s ", option);
    bool is_inside = strchr(option, '=') || (option[1] != '-' && strpbrk(option, "0123456789"));

    return launcher->flags && !is_inside && !strstr(launcher->flags, spaced);
}

/* The words that a launcher takes for itself, from its name on. */
static size_t words_of_launcher(const struct launcher *launcher, char *const *words)
{
    size_t i = launcher->word ? 2 : 1;
    int operands = launcher->operands;

    for (; words[i]; i++) {
        const char *word = words[i];
        if (strcmp(word, "--") == 0)
            return i + 1;
        if (word[0] == '-' && has_value_behind(launcher, word) && words[i + 1])
            i++;
        else if (word[0] == '-' || strchr(word, '='))
            continue;
        else if (operands-- <= 0 && strspn(word, "0123456789,x-") != strlen(word))
            return i;
    }
    return i;
}

/* A name may not have everything that a file name may. */
static char *safe_name(const char *word)
{
    char *name = mem_string_of(word, strnlen(word, SUBMISSION_NAME_MAX));
    char letter[2] = { 0 };

    for (char *c = name; *c; c++) {
        letter[0] = *c;
        if (!string_is_name(letter, 1) && *c != '-')
            *c = '_';
    }
    if (name_is_valid(name))
        return name;
    mem_resize(name, 0, 1);
    return mem_string("job");
}

static bool is_inline(char *const *words)
{
    const char *program = base_name(words[0]);

    for (size_t i = 1; words[i] && words[i][0] == '-'; i++) {
        if (strcmp(words[i], "-c") == 0)
            return strcmp(program, "taskset") != 0 && !string_starts(program, "apptainer") &&
                   !string_starts(program, "singularity") && !string_starts(program, "ionice");
    }
    return false;
}

/* The first word that says what it is: no launcher, nor anything that is meant for one. */
static char *name_of_words(char *const *words)
{
    char *const *at = words;

    while (strchr(at[0], '=') && at[1])
        at++;
    for (const struct launcher *launcher; (launcher = find_launcher(at)) != NULL;) {
        size_t count = words_of_launcher(launcher, at);
        if (is_inline(at) || !at[count])
            break;
        at += count;
    }
    return safe_name(base_name(at[0]));
}

static char *name_of_text(const char *run)
{
    enum { WORDS_MAX = 16 };
    char *words[WORDS_MAX + 1] = { 0 };
    size_t count = 0;

    AUTO_FREE char *copy = mem_string_of(run, strcspn(run, "\n;&|"));
    char *rest = copy;
    while (count < WORDS_MAX && rest) {
        char *word = strsep(&rest, " \t");
        if (*word)
            words[count++] = word;
    }
    return count > 0 ? name_of_words(words) : mem_string("job");
}

char *command_name(char *const *argv, bool is_script)
{
    if (is_script)
        return mem_string("script");
    if (strcmp(argv[0], "/bin/sh") == 0 && argv[1] && strcmp(argv[1], "-c") == 0 && argv[2])
        return name_of_text(argv[2]);
    return name_of_words(argv);
}
