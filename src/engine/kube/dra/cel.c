/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/dra/cel.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* ---- words ---- */

enum token_kind { TOKEN_END, TOKEN_INT, TOKEN_STRING, TOKEN_NAME, TOKEN_SIGN };

struct token {
    enum token_kind kind;
    const char *first; /* in the text */
    size_t length;
    int64_t number;   /* TOKEN_INT */
    struct text text; /* TOKEN_STRING: its value */
};

/* What waits for more of the text. */
enum frame_kind {
    FRAME_OPERATOR, /* its right side */
    FRAME_IF,       /* the ':' of a '?' */
    FRAME_GROUP,
    FRAME_CALL,
    FRAME_INDEX,
    FRAME_LIST,
    FRAME_HAS,
    FRAME_BIND,
};

enum precedence {
    OF_ALL,
    OF_CHOOSE,
    OF_OR,
    OF_AND,
    OF_RELATION,
    OF_NOT,
};

struct frame {
    enum frame_kind kind;
    enum precedence precedence;
    enum cel_op_kind op;
    enum cel_function function;
    uint32_t count;    /* of values so far; of FRAME_BIND: 1 after the comma */
    uint32_t variable; /* FRAME_BIND */
    size_t first;      /* operation */
};

struct variable {
    char *name;
    bool is_known; /* here */
};

struct parser {
    const char *text, *at;
    struct token token;
    struct cel *cel;
    LIST(struct frame) frames;
    struct variable variables[CEL_VARIABLES_MAX];
    uint32_t variable_count;
    bool wants_value;
    struct error *err;
};

static int outside(const struct parser *parser, const struct token *token)
{
    if (token->kind == TOKEN_END)
        return error_set(parser->err, -ENOTSUP, "it ends too early");
    return error_set(parser->err, -ENOTSUP,
                     "'%.*s' at character %d is outside of the part of CEL that tarn evaluates",
                     (int)(token->length < 40 ? token->length : 40), token->first,
                     (int)(token->first - parser->text) + 1);
}

static void skip_blanks(struct parser *parser)
{
    for (;;) {
        parser->at += strspn(parser->at, " \t\r\n");
        if (!string_starts(parser->at, "//"))
            return;
        parser->at += strcspn(parser->at, "\n");
    }
}

/* Between quotes, of which there is one kind. */
static bool take_string(struct parser *parser, bool is_raw)
{
    static const char names[] = "abfnrtv\\'\"`?", values[] = "\a\b\f\n\r\t\v\\'\"`?";
    char quote = *parser->at++;

    text_clear(&parser->token.text);
    for (; *parser->at && *parser->at != quote && *parser->at != '\n'; parser->at++) {
        const char *named = *parser->at == '\\' && !is_raw && parser->at[1]
                                ? strchr(names, *++parser->at)
                                : parser->at;
        if (!named)
            return false;
        text_add_char(&parser->token.text, named == parser->at ? *named : values[named - names]);
    }
    if (*parser->at != quote || (parser->token.text.length == 0 && parser->at[1] == quote))
        return false; /* three quotes are outside, too */
    parser->at++;
    return true;
}

static bool take_int(struct parser *parser)
{
    char *end;

    errno = 0;
    parser->token.number = strtoll(parser->at, &end, 10);
    parser->at = end;
    return errno == 0 && *end != '.' && !isalnum((unsigned char)*end) && *end != '_';
}

static size_t sign_length(const char *s)
{
    static const char *const pairs[] = { "==", "!=", "<=", ">=", "&&", "||" };

    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        if (string_starts(s, pairs[i]))
            return 2;
    }
    return 1;
}

/* The next word. */
static int advance(struct parser *parser)
{
    struct token *token = &parser->token;
    bool is_taken = true;

    skip_blanks(parser);
    const char *s = token->first = parser->at;
    bool is_negative = parser->wants_value && *s == '-' && isdigit((unsigned char)s[1]);
    bool is_raw = (*s == 'r' || *s == 'R') && (s[1] == '\'' || s[1] == '"');
    token->kind = TOKEN_SIGN;
    if (!*s) {
        token->kind = TOKEN_END;
    } else if (*s == '\'' || *s == '"' || is_raw) {
        token->kind = TOKEN_STRING;
        parser->at += is_raw;
        is_taken = take_string(parser, is_raw);
    } else if (isdigit((unsigned char)*s) || is_negative) {
        token->kind = TOKEN_INT;
        is_taken = take_int(parser);
    } else if (isalpha((unsigned char)*s) || *s == '_') {
        token->kind = TOKEN_NAME;
        while (isalnum((unsigned char)*parser->at) || *parser->at == '_')
            parser->at++;
    } else {
        parser->at += sign_length(s);
    }
    token->length = (size_t)(parser->at - s);
    return is_taken ? 0 : outside(parser, token);
}

static bool is_word(const struct token *token, const char *word)
{
    return (token->kind == TOKEN_SIGN || token->kind == TOKEN_NAME) &&
           token->length == strlen(word) && memcmp(token->first, word, token->length) == 0;
}

/* ---- operations ---- */

static void emit(struct parser *parser, enum cel_op_kind kind, int64_t number, const char *text)
{
    list_add(&parser->cel->ops,
             ((struct cel_op){ .kind = kind, .number = number, .text = mem_string(text) }));
}

static void emit_name(struct parser *parser, enum cel_op_kind kind)
{
    AUTO_FREE char *name = mem_string_of(parser->token.first, parser->token.length);

    emit(parser, kind, 0, name);
}

static struct frame *last_frame(struct parser *parser)
{
    return parser->frames.count > 0 ? &parser->frames.items[parser->frames.count - 1] : NULL;
}

static int open_frame(struct parser *parser, struct frame frame)
{
    if (parser->frames.count >= CEL_DEPTH_MAX)
        return error_set(parser->err, -ENOTSUP, "it is nested more than %d levels deep",
                         CEL_DEPTH_MAX);
    frame.first = parser->cel->ops.count;
    list_add(&parser->frames, frame);
    return 0;
}

/* Operators whose right side is complete, because what follows binds less than they do. */
static void apply_operators(struct parser *parser, enum precedence least)
{
    for (const struct frame *last = last_frame(parser);
         last && last->kind == FRAME_OPERATOR && last->precedence >= least;
         last = last_frame(parser)) {
        emit(parser, last->op, 0, NULL);
        parser->frames.count--;
    }
}

static int open_operator(struct parser *parser, enum cel_op_kind op, enum precedence precedence)
{
    if (op != CEL_OP_NOT)
        apply_operators(parser, precedence);
    parser->wants_value = true;
    return open_frame(parser,
                      (struct frame){ .kind = FRAME_OPERATOR, .op = op, .precedence = precedence });
}

/* ---- calls and variables ---- */

/* The name is followed by '('. */
static int open_call(struct parser *parser, bool is_method)
{
    static const struct {
        const char *name;
        bool is_method;
    } functions[CEL_FUNCTIONS] = {
#define CEL_FUNCTION(ID, word, is_method_, count) { word, is_method_ },
#include "engine/kube/dra/cel_function.def"
    };
    const struct token name = parser->token;

    for (size_t i = 0; i < CEL_FUNCTIONS; i++) {
        if (!is_word(&name, functions[i].name) || functions[i].is_method != is_method)
            continue;
        parser->at++;
        parser->wants_value = true;
        return open_frame(parser, (struct frame){ .kind = FRAME_CALL,
                                                  .function = (enum cel_function)i,
                                                  .count = is_method });
    }
    return outside(parser, &name);
}

static bool is_called(struct parser *parser)
{
    skip_blanks(parser);
    return *parser->at == '(';
}

/* cel.bind(NAME, VALUE, RESULT) */
static int open_bind(struct parser *parser)
{
    static const char *const words[] = { ".", "bind", "(" };
    struct token first = parser->token;
    int code = 0;

    for (size_t i = 0; i < COUNT_OF(words) && code == 0; i++) {
        code = advance(parser);
        if (code == 0 && !is_word(&parser->token, words[i]))
            return outside(parser, &first);
    }
    if (code == 0)
        code = advance(parser);
    struct token name = parser->token;
    if (code == 0 && (name.kind != TOKEN_NAME || parser->variable_count == CEL_VARIABLES_MAX))
        return outside(parser, &name);
    if (code == 0)
        code = advance(parser);
    if (code == 0 && !is_word(&parser->token, ","))
        return outside(parser, &parser->token);
    if (code < 0)
        return code;
    parser->variables[parser->variable_count].name = mem_string_of(name.first, name.length);
    return open_frame(parser,
                      (struct frame){ .kind = FRAME_BIND, .variable = parser->variable_count++ });
}

static int take_variable(struct parser *parser)
{
    for (uint32_t i = parser->variable_count; i-- > 0;) {
        if (!parser->variables[i].is_known || !is_word(&parser->token, parser->variables[i].name))
            continue;
        emit(parser, CEL_OP_VARIABLE, i, NULL);
        parser->wants_value = false;
        return 0;
    }
    return outside(parser, &parser->token);
}

/* Whether a pattern of RE2 means the same as one of POSIX. It takes little time and memory, too. */
static bool is_posix(const char *pattern)
{
    enum { PATTERN_MAX = 256 };

    if (strlen(pattern) > PATTERN_MAX || strpbrk(pattern, "{}") || strstr(pattern, "(?") ||
        strstr(pattern, "*?") || strstr(pattern, "+?") || strstr(pattern, "??") ||
        strstr(pattern, "()"))
        return false;
    for (const char *at = strchr(pattern, '\\'); at; at = strchr(at + 2, '\\')) {
        if (!ispunct((unsigned char)at[1]) || strchr(pattern, '['))
            return false;
    }
    return true;
}

/* The operations of the arguments are there. */
static bool is_supported_call(const struct parser *parser, const struct frame *frame,
                              uint32_t count)
{
    static const uint32_t counts[CEL_FUNCTIONS] = {
#define CEL_FUNCTION(ID, word, is_method, count_) count_,
#include "engine/kube/dra/cel_function.def"
    };
    if (count != counts[frame->function]) /* none has no argument */
        return false;
    const struct cel_op *last = &parser->cel->ops.items[parser->cel->ops.count - 1];
    return frame->function != CEL_MATCHES ||
           (last->kind == CEL_OP_STRING && frame->first + 1 == parser->cel->ops.count &&
            is_posix(last->text));
}

/* has() is about a field. */
static bool is_field(const struct parser *parser, const struct frame *frame)
{
    size_t count = parser->cel->ops.count;

    return count > frame->first + 1 && parser->cel->ops.items[count - 1].kind == CEL_OP_SELECT;
}

/* ---- the grammar ---- */

/* Of a list, an index, a group or a call. */
static int close_frame(struct parser *parser, bool is_bracket)
{
    bool is_empty = parser->wants_value;

    if (!is_empty)
        apply_operators(parser, OF_ALL);
    const struct frame *last = last_frame(parser);
    if (!last || last->kind == FRAME_OPERATOR || last->kind == FRAME_IF)
        return outside(parser, &parser->token);
    struct frame frame = *last;
    bool is_listing = frame.kind == FRAME_LIST || frame.kind == FRAME_CALL;
    bool may_be_empty = is_listing && frame.first == parser->cel->ops.count;
    if (is_bracket != (frame.kind == FRAME_LIST || frame.kind == FRAME_INDEX) ||
        (is_empty && !may_be_empty))
        return outside(parser, &parser->token);
    uint32_t count = frame.count + !is_empty;
    if ((frame.kind == FRAME_CALL && !is_supported_call(parser, &frame, count)) ||
        (frame.kind == FRAME_HAS && !is_field(parser, &frame)) ||
        (frame.kind == FRAME_BIND && frame.count != 1))
        return outside(parser, &parser->token);
    if (frame.kind == FRAME_CALL)
        emit(parser, CEL_OP_CALL, frame.function, NULL);
    else if (frame.kind == FRAME_LIST)
        emit(parser, CEL_OP_LIST, count, NULL);
    else if (frame.kind == FRAME_INDEX)
        emit(parser, CEL_OP_INDEX, 0, NULL);
    else if (frame.kind == FRAME_HAS)
        parser->cel->ops.items[parser->cel->ops.count - 1].kind = CEL_OP_TEST;
    else if (frame.kind == FRAME_BIND)
        parser->variables[frame.variable].is_known = false;
    parser->frames.count--;
    parser->wants_value = false;
    return 0;
}

static int take_comma(struct parser *parser)
{
    apply_operators(parser, OF_ALL);
    struct frame *frame = last_frame(parser);

    if (!frame || (frame->kind != FRAME_CALL && frame->kind != FRAME_LIST &&
                   (frame->kind != FRAME_BIND || frame->count > 0)))
        return outside(parser, &parser->token);
    frame->count++;
    if (frame->kind == FRAME_BIND) {
        emit(parser, CEL_OP_STORE, frame->variable, NULL);
        parser->variables[frame->variable].is_known = true;
    }
    parser->wants_value = true;
    return 0;
}

static int take_colon(struct parser *parser)
{
    apply_operators(parser, OF_ALL);
    struct frame *frame = last_frame(parser);

    if (!frame || frame->kind != FRAME_IF)
        return outside(parser, &parser->token);
    frame->kind = FRAME_OPERATOR;
    frame->op = CEL_OP_CHOOSE;
    frame->precedence = OF_CHOOSE;
    parser->wants_value = true;
    return 0;
}

static int take_literal(struct parser *parser)
{
    const struct token *token = &parser->token;

    if (token->kind == TOKEN_INT)
        emit(parser, CEL_OP_INT, token->number, NULL);
    else if (token->kind == TOKEN_STRING)
        emit(parser, CEL_OP_STRING, 0, text_string(&token->text));
    else
        emit(parser, CEL_OP_BOOL, is_word(token, "true"), NULL);
    parser->wants_value = false;
    return 0;
}

static int take_value(struct parser *parser)
{
    const struct token *token = &parser->token;
    bool is_bool = is_word(token, "true") || is_word(token, "false");

    if (token->kind == TOKEN_INT || token->kind == TOKEN_STRING || is_bool)
        return take_literal(parser);
    if (is_word(token, "!"))
        return open_operator(parser, CEL_OP_NOT, OF_NOT);
    if (is_word(token, "("))
        return open_frame(parser, (struct frame){ .kind = FRAME_GROUP });
    if (is_word(token, "["))
        return open_frame(parser, (struct frame){ .kind = FRAME_LIST });
    if (is_word(token, ")") || is_word(token, "]"))
        return close_frame(parser, is_word(token, "]"));
    if (token->kind != TOKEN_NAME)
        return outside(parser, token);
    if (is_word(token, "cel"))
        return open_bind(parser);
    if (is_word(token, "has") && is_called(parser)) {
        parser->at++;
        return open_frame(parser, (struct frame){ .kind = FRAME_HAS });
    }
    if (is_called(parser))
        return open_call(parser, false);
    if (!is_word(token, "device"))
        return take_variable(parser);
    emit(parser, CEL_OP_DEVICE, 0, NULL);
    parser->wants_value = false;
    return 0;
}

static int take_member(struct parser *parser)
{
    int code = advance(parser);

    if (code < 0)
        return code;
    if (parser->token.kind != TOKEN_NAME)
        return outside(parser, &parser->token);
    if (is_called(parser))
        return open_call(parser, true);
    emit_name(parser, CEL_OP_SELECT);
    return 0;
}

/* What follows a value. */
static int take_operator(struct parser *parser)
{
    static const struct {
        const char *word;
        enum cel_op_kind op;
        enum precedence precedence;
    } operators[] = {
        { "||", CEL_OP_OR, OF_OR },           { "&&", CEL_OP_AND, OF_AND },
        { "==", CEL_OP_EQUAL, OF_RELATION },  { "!=", CEL_OP_UNEQUAL, OF_RELATION },
        { "<", CEL_OP_LESS, OF_RELATION },    { "<=", CEL_OP_LESS_EQUAL, OF_RELATION },
        { ">", CEL_OP_GREATER, OF_RELATION }, { ">=", CEL_OP_GREATER_EQUAL, OF_RELATION },
        { "in", CEL_OP_IN, OF_RELATION },
    };
    const struct token *token = &parser->token;

    for (size_t i = 0; i < COUNT_OF(operators); i++) {
        if (is_word(token, operators[i].word))
            return open_operator(parser, operators[i].op, operators[i].precedence);
    }
    if (is_word(token, "."))
        return take_member(parser);
    if (is_word(token, "[")) {
        parser->wants_value = true;
        return open_frame(parser, (struct frame){ .kind = FRAME_INDEX });
    }
    if (is_word(token, ")") || is_word(token, "]"))
        return close_frame(parser, is_word(token, "]"));
    if (is_word(token, ","))
        return take_comma(parser);
    if (is_word(token, ":"))
        return take_colon(parser);
    if (!is_word(token, "?"))
        return outside(parser, token);
    apply_operators(parser, OF_OR);
    parser->wants_value = true;
    return open_frame(parser, (struct frame){ .kind = FRAME_IF });
}

static int parse(struct parser *parser)
{
    int code = advance(parser);

    while (code == 0 && parser->token.kind != TOKEN_END) {
        if (parser->cel->ops.count >= CEL_OPS_MAX)
            return error_set(parser->err, -ENOTSUP, "it has more than %d operations", CEL_OPS_MAX);
        code = parser->wants_value ? take_value(parser) : take_operator(parser);
        if (code == 0)
            code = advance(parser);
    }
    if (code == 0 && !parser->wants_value)
        apply_operators(parser, OF_ALL);
    if (code == 0 && (parser->wants_value || parser->frames.count > 0))
        code = outside(parser, &parser->token);
    return code;
}

int cel_parse(const char *text, struct cel **ret, struct error *err)
{
    struct parser parser = { .text = text, .at = text, .wants_value = true, .err = err };

    if (strlen(text) > CEL_TEXT_MAX)
        return error_set(err, -ENOTSUP, "it is longer than %d bytes", CEL_TEXT_MAX);
    parser.cel = mem_zero(1, sizeof(*parser.cel));
    int code = parse(&parser);
    for (uint32_t i = 0; i < parser.variable_count; i++)
        free(parser.variables[i].name);
    list_release(&parser.frames);
    text_release(&parser.token.text);
    if (code < 0)
        cel_destroy(parser.cel);
    else
        *ret = parser.cel;
    return code;
}

void cel_destroy(struct cel *cel)
{
    if (!cel)
        return;
    LIST_EACH (struct cel_op, op, &cel->ops)
        free(op->text);
    list_release(&cel->ops);
    free(cel);
}
