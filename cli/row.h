/* SPDX-License-Identifier: Apache-2.0
 * row.h: the texts of an op's row cut into words: ports, attributes, lists of names. */
#ifndef SITU_CLI_ROW_H
#define SITU_CLI_ROW_H

#include <stdbool.h>
#include <stddef.h>

enum { ROW_TEXT = 512 };

/* "a:T", "inputs:N*T", "ref:&T". */
struct row_port {
  char name[ROW_TEXT], type[ROW_TEXT];
  char number[ROW_TEXT]; /* of a list: the attribute that counts it; "" of one value */
  bool is_ref, is_handle;
};

/* "transpose_a:bool=false", "T:{half float}", "N:int>=1". */
struct row_attr {
  char name[ROW_TEXT], kind[ROW_TEXT];
  char preset[ROW_TEXT]; /* the default */
  bool has_preset;
};

/* Cuts the next word off a row's text: blanks inside brackets and quotes belong to it. False at the
 * end. */
bool row_word(const char **text, char out[ROW_TEXT]);

/* The next port or attribute of a row's text. */
bool row_port(const char **text, struct row_port *out);
bool row_attr(const char **text, struct row_attr *out);

/* Appends prefix and word to a list, behind `separator` if it is not the first; cut where it is too
 * long. */
void row_append(char list[ROW_TEXT], const char *separator, const char *prefix, const char *word);

/* Whether a list of words holds one; whether an input says what the attribute is. */
bool row_holds(const char *words, const char *word);
bool row_infers(const char *inputs, const char *attr);

/* "CPU GPU(float double)" without the types: "CPU GPU". */
const char *row_kinds(const char *devices, char out[ROW_TEXT]);

/* The first sentence of a text. */
const char *row_sentence(const char *doc, char out[ROW_TEXT]);

#endif
