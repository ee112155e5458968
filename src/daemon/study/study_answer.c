/* SPDX-License-Identifier: Apache-2.0 */
/* The other end of a study that is this program anew. */
#include <stdio.h>

#include "daemon/study/study.h"
#include "io/file.h"
#include "wire/json.h"

enum { QUESTION_MAX = 80 << 20 };

int study_answer(study_answer_fn *answer)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    json_t *question = NULL, *said = NULL;
    struct error err = { "" };

    int code = file_read("/dev/stdin", QUESTION_MAX, &bytes, &err);
    if (code == 0)
        code = json_parse(text_string(&bytes), bytes.length, QUESTION_MAX, "question", &question,
                          &err);
    if (code == 0)
        code = answer(question, &said, &err);
    json_decref(question);
    if (code < 0) {
        printf("-%d %s", -code, err.text);
        return 1;
    }
    putchar('+');
    json_dumpf(said, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(said);
    return fflush(stdout) == 0 ? 0 : 1;
}
