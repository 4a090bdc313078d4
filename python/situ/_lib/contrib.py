# SPDX-License-Identifier: Apache-2.0
"""contrib.py: imports what there is of tf.contrib, so that its names are known."""
from situ._lib import (arg_scope, contrib_eager, contrib_layers, contrib_learn, contrib_more,
                       distributions, legacy_seq2seq, seq2seq, seq2seq_attention, seq2seq_beam,
                       slim, slim_learning)

PARTS = (arg_scope, contrib_eager, contrib_layers, contrib_learn, contrib_more, distributions,
         legacy_seq2seq, seq2seq, seq2seq_attention, seq2seq_beam, slim, slim_learning)
