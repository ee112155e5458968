/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_CONTRACT_OPENAPI_H
#define API_CONTRACT_OPENAPI_H

/* openapi - the description of the API (OpenAPI 3.1), from the tables that the server works by */

#include <jansson.h>

struct operation;

/* version: of the program; new. */
json_t *openapi_document(const char *version);

/* What stands in its path, its query and its headers, each as a parameter of the description; new.
 */
json_t *openapi_parameters(const struct operation *operation);

#endif
