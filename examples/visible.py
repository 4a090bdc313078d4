# SPDX-License-Identifier: Apache-2.0
"""visible.py: which GPUs a program sees, chosen by itself."""

import os

from tensorflow.python.client import device_lib

os.environ["CUDA_VISIBLE_DEVICES"] = "2"

for device in device_lib.list_local_devices():
    print(device.name, device.physical_device_desc)
