/* SPDX-License-Identifier: Apache-2.0
 * op_def.h: parses the strings of an op definition: ports, attributes and lists of names. */
#ifndef SITU_CLI_OP_DEF_H
#define SITU_CLI_OP_DEF_H

#include <stdbool.h>
#include <stddef.h>

enum { OP_DEF_STRING = 512 };

/* "a:T", "inputs:N*T", "ref:&T". */
struct op_def_port {
  char name[OP_DEF_STRING], type[OP_DEF_STRING];
  char number[OP_DEF_STRING]; /* list input: the attribute with its length; "" otherwise */
  bool is_ref, is_handle;
};

/* "transpose_a:bool=false", "T:{half float}", "N:int>=1". */
struct op_def_attr {
  char name[OP_DEF_STRING], kind[OP_DEF_STRING];
  char default_value[OP_DEF_STRING];
  bool has_default;
};

/* Gets the next word; spaces in brackets and quotes do not separate words. Returns false at the
 * end. */
bool op_def_word(const char **text, char out[OP_DEF_STRING]);

/* Get the next port or attribute. Return false at the end. */
bool op_def_port(const char **text, struct op_def_port *out);
bool op_def_attr(const char **text, struct op_def_attr *out);

/* Appends prefix and word to a list, preceded by the separator unless it is empty; truncates if too
 * long. */
void append_word(char list[OP_DEF_STRING], const char *separator, const char *prefix,
                 const char *word);

/* Return whether a list contains a word, and whether an attribute is inferred from the inputs. */
bool contains_word(const char *words, const char *word);
bool op_def_infers(const char *inputs, const char *attr);

/* "CPU GPU(float double)" without the types: "CPU GPU". */
const char *op_def_devices(const char *devices, char out[OP_DEF_STRING]);

/* Returns the first sentence of a doc string. */
const char *first_sentence(const char *doc, char out[OP_DEF_STRING]);

#endif
