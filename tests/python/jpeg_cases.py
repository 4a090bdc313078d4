# SPDX-License-Identifier: Apache-2.0
"""jpeg_cases.py: JPEG files of several kinds and what TensorFlow 2.21 makes of them: the shape and
the CRC-32 of the pixels, or None where it raises InvalidArgumentError."""

import base64

FILES = {
    name: base64.b64decode(data)
    for name, data in {
        "4:4:4": """
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4UG1RV19i
Z2hnPk1xeXBkeFxlZ2P/2wBDARESEhgVGC8aGi9jQjhCY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2Nj
Y2NjY2NjY2P/wAARCAATABkDAREAAhEBAxEB/8QAGAAAAwEBAAAAAAAAAAAAAAAAAwQFAgb/xAAoEAABAwMCAwkAAAAAAAAAAAAB
AAIDBBEhEmExUVIFExQVMnGBkfD/xAAZAQADAQEBAAAAAAAAAAAAAAABBAUDBgf/xAAmEQABAwIEBgMAAAAAAAAAAAABAAIDERIT
ITFRBBQVQbHRUqHw/9oADAMBAAIRAxEAPwDkoaPZYX1QimVGHsuQt1CMlucjhjj87LTCcTRUW8QGAuJyGvfwmoaDZZ4VVSinTHl+
yPLprmFiCj4YSkb6rzyOZU46R74nRn0vk7wi7rE+wP7HJUGXOcHDamifjlBIc7PKmun7tUlOMpWssNNzyQn4qOA20q7b2qUMpKJ4
d/S36SXUJ/iPv2ncQbpWnY3GEtAVwMZKpwtaGEgC4Cq3FsTnDUA+E9ETUI1OxuMBQ4AFWjcU5ob0hULQmLiv/9k=
    """,
        "4:2:2": """
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4UG1RV19i
Z2hnPk1xeXBkeFxlZ2P/2wBDARESEhgVGC8aGi9jQjhCY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2Nj
Y2NjY2NjY2P/wAARCAATABkDASEAAhEBAxEB/8QAGAAAAwEBAAAAAAAAAAAAAAAAAwQFAgb/xAAoEAABAwMCAwkAAAAAAAAAAAAB
AAIDBBEhEmExUVIFExQVMnGBkfD/xAAaAQACAgMAAAAAAAAAAAAAAAADBgABAgQF/8QAHhEAAQUAAwEBAAAAAAAAAAAAAQACAwQR
EiExEyL/2gAMAwEAAhEDEQA/AOSho9lRh7LkLdQjJbnI4Y4/OyEAX+I9afBqahoNkx5fsq+Gpgin/KxBR8MKnHSPfE6M+l8neEXd
Yn2B/Y5LCuS4dJJryjrU4ylayw03PJE8O/pb9KT3XRu4RAHPdXfhk1vaVp2NxhU4WtDCQBcBDqEhhISfXJRqdjcYCc0N6QtWuBwT
DG44v//Z
    """,
        "4:2:0": """
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4UG1RV19i
Z2hnPk1xeXBkeFxlZ2P/2wBDARESEhgVGC8aGi9jQjhCY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2Nj
Y2NjY2NjY2P/wAARCAATABkDASIAAhEBAxEB/8QAGAAAAwEBAAAAAAAAAAAAAAAAAAQFAwb/xAAoEAABAwMCAwkAAAAAAAAAAAAB
AAIDBBEhEmExUVIFExQVMnGBkfD/xAAXAQADAQAAAAAAAAAAAAAAAAAAAwYE/8QAHhEAAQQDAAMAAAAAAAAAAAAAAQACAwQREiEx
UWH/2gAMAwEAAhEDEQA/AOSho9lRh7LkLdQjJbnI4Y4/Oyfgo+GFTjpHvidGfS+TvCLusT7A/sckiJwk8pde56Kjw0GyY8v2VxlK
1lhpueS08O/pb9Ie6Bh1ceqghuEtStOxuMKnC1oYSALgIQkVThhPxQVc9C2p2NxgJzQ3pCELPXA0VFGThf/Z
    """,
        "4:1:1": """
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4UG1RV19i
Z2hnPk1xeXBkeFxlZ2P/2wBDARESEhgVGC8aGi9jQjhCY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2Nj
Y2NjY2NjY2P/wAARCAATABkDAUEAAhEBAxEB/8QAGAAAAwEBAAAAAAAAAAAAAAAAAwQFAgb/xAAoEAABAwMCAwkAAAAAAAAAAAAB
AAIDBBEhEmExUVIFExQVMnGBkfD/xAAZAQADAQEBAAAAAAAAAAAAAAABBAUDBgf/xAAmEQABAwIEBgMAAAAAAAAAAAABAAIDERIT
ITFRBBQVQbHRUqHw/9oADAMBAAIRAxEAPwDkoaPZYX1QimVGHsuQt1CMlucjhjj87LTCcTRUW8QGAuJyGvfwmoaDZZ4VVSinTHl+
yPLprmFiCj4YSkb6rzyOZU46R74nRn0vk7wi7rE+wP7HJUGXOcHDamifjlBIc7PKmun7tUlOMpWssNNzyQn4qOA20q7b2qUMpKJ4
d/S36SXUJ/iPv2ncQbpWnY3GEtAVwMZKpwtaGEgC4Cq3FsTnDUA+E9ETUI1OxuMBQ4AFWjcU5ob0hULQmLiv/9k=
    """,
        "gray": """
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4UG1RV19i
Z2hnPk1xeXBkeFxlZ2P/wAALCAATABkBAREA/8QAGAAAAwEBAAAAAAAAAAAAAAAAAwQFAgb/xAAoEAABAwMCAwkAAAAAAAAAAAAB
AAIDBBEhEmExUVIFExQVMnGBkfD/2gAIAQEAAD8A5KGj2VGHsuQt1CMlucjhjj87JqGg2THl+yxBR8MKnHSPfE6M+l8neEXdYn2B
/Y5JxlK1lhpueSJ4d/S36StOxuMKnC1oYSALgI1OxuMBOaG9IX//2Q==
    """,
        "cmyk": """
/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwAbEhQXFBEbFxYXHhwbIChCKyglJShROj0wQmBVZWRfVV1baniZgWpxkHNbXYW1hpCeo6ut
q2eAvMm6pseZqKuk/8AAFAgAEwAZBEMRAE0RAFkRAEsRAP/EABoAAAIDAQEAAAAAAAAAAAAAAAAFAQQGAwL/xAAtEAABAgMHAgQH
AAAAAAAAAAABAAIDBBESFCExQVFhBRMVInHRM0JSU2KS8P/aAA4EQwBNAFkASwAAPwBHK6JPc+FnYbLS0ydQGlkMxDixtbTmm0BT
enqpbIOfSjDjWhpnTNXofS4zjTt7jMaCp/vXZCbSuii58L1D6ba+VCuoufC6+E/ihYKV0T658KlJstUQnEv5/iFz9gXmg5zzUulX
GE6GMGvidxwFRaPIB9tE8gQIsV4cC0A6FuFRUAilNDT2QnErooufC7TU3L9PcIXbMaPSthpoB6nRCuoufCp+Kz/2Jb9Xe6FgpXRO
LDdkv6aMkJxK6IsN2WjY4wpCPFZg9kJzmmmRAQnEroiw3ZJOmw2YeUIV1Fhuycdpn0hC/9k=
    """,
        "progressive": """
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABQODxIPDRQSEBIXFRQYHjIhHhwcHj0sLiQySUBMS0dARkVQWnNiUFVtVkVGZIhlbXd7
gYKBTmCNl4x9lnN+gXz/2wBDARUXFx4aHjshITt8U0ZTfHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8
fHx8fHx8fHz/wgARCAATABkDASIAAhEBAxEB/8QAGAAAAwEBAAAAAAAAAAAAAAAAAAIDBAX/xAAXAQEBAQEAAAAAAAAAAAAAAAAC
BAAF/9oADAMBAAIQAxAAAAHm3tcHM+ttbO4DjvQBb//EABoQAQEAAgMAAAAAAAAAAAAAAAABAhIDEBH/2gAIAQEAAQUCmKcaYNEx
atXiInX/xAAYEQADAQEAAAAAAAAAAAAAAAAAAgMBIf/aAAgBAwEBPwFKi04IYf/EABkRAAMBAQEAAAAAAAAAAAAAAAABAjEDIf/a
AAgBAgEBPwGfRuEc8Iw//8QAFBABAAAAAAAAAAAAAAAAAAAAMP/aAAgBAQAGPwJP/8QAGRABAQEBAQEAAAAAAAAAAAAAAQARIVEg
/9oACAEBAAE/IZTNznwMSJ67GLfkYciWF//aAAwDAQACAAMAAAAQFBec/8QAGBEAAgMAAAAAAAAAAAAAAAAAAAEQIVH/2gAIAQMB
AT8QwHwPR//EABgRAQEBAQEAAAAAAAAAAAAAAAEAIREx/9oACAECAQE/EEe5ni7LUJ//xAAdEAACAgIDAQAAAAAAAAAAAAAAAREh
MWFBUXHw/9oACAEBAAE/ENA7A7taxWTQeTQPbiWpcN+J/UIpEs0BXQhM0uDpGo//2Q==
    """,
    }.items()
}

# (file, arguments of decode_jpeg, result)
DECODED = [
    ("4:4:4", {}, ([19, 25, 3], 1208958821)),
    ("4:4:4", {"channels": 1}, ([19, 25, 1], 2131361618)),
    ("4:4:4", {"channels": 3}, ([19, 25, 3], 1208958821)),
    ("4:4:4", {"ratio": 2}, ([10, 13, 3], 2765680297)),
    ("4:4:4", {"ratio": 8}, ([3, 4, 3], 4152917339)),
    ("4:4:4", {"fancy_upscaling": False}, ([19, 25, 3], 1208958821)),
    ("4:4:4", {"dct_method": "INTEGER_ACCURATE"}, ([19, 25, 3], 746290076)),
    ("4:2:2", {}, ([19, 25, 3], 3144644562)),
    ("4:2:2", {"channels": 1}, ([19, 25, 1], 2131361618)),
    ("4:2:2", {"channels": 3}, ([19, 25, 3], 3144644562)),
    ("4:2:2", {"ratio": 2}, ([10, 13, 3], 2485216919)),
    ("4:2:2", {"ratio": 8}, ([3, 4, 3], 923128470)),
    ("4:2:2", {"fancy_upscaling": False}, ([19, 25, 3], 1270185458)),
    ("4:2:2", {"dct_method": "INTEGER_ACCURATE"}, ([19, 25, 3], 3342748724)),
    ("4:2:0", {}, ([19, 25, 3], 4098202259)),
    ("4:2:0", {"channels": 1}, ([19, 25, 1], 2131361618)),
    ("4:2:0", {"channels": 3}, ([19, 25, 3], 4098202259)),
    ("4:2:0", {"ratio": 2}, ([10, 13, 3], 2313382862)),
    ("4:2:0", {"ratio": 8}, ([3, 4, 3], 270518187)),
    ("4:2:0", {"fancy_upscaling": False}, ([19, 25, 3], 3144415613)),
    ("4:2:0", {"dct_method": "INTEGER_ACCURATE"}, ([19, 25, 3], 3943715321)),
    ("4:1:1", {}, ([19, 25, 3], 2611193762)),
    ("4:1:1", {"channels": 1}, ([19, 25, 1], 133266792)),
    ("4:1:1", {"channels": 3}, ([19, 25, 3], 2611193762)),
    ("4:1:1", {"ratio": 2}, ([10, 13, 3], 1212427605)),
    ("4:1:1", {"ratio": 8}, ([3, 4, 3], 2608820602)),
    ("4:1:1", {"fancy_upscaling": False}, ([19, 25, 3], 2611193762)),
    ("4:1:1", {"dct_method": "INTEGER_ACCURATE"}, ([19, 25, 3], 3141548662)),
    ("gray", {}, ([19, 25, 1], 2131361618)),
    ("gray", {"channels": 1}, ([19, 25, 1], 2131361618)),
    ("gray", {"channels": 3}, ([19, 25, 3], 1429313628)),
    ("gray", {"ratio": 2}, ([10, 13, 1], 4267354985)),
    ("gray", {"ratio": 8}, ([3, 4, 1], 1600191167)),
    ("gray", {"fancy_upscaling": False}, ([19, 25, 1], 2131361618)),
    ("gray", {"dct_method": "INTEGER_ACCURATE"}, ([19, 25, 1], 695244220)),
    ("cmyk", {}, ([19, 25, 3], 2282035018)),
    ("cmyk", {"channels": 1}, None),
    ("cmyk", {"channels": 3}, ([19, 25, 3], 2282035018)),
    ("cmyk", {"ratio": 2}, ([10, 13, 3], 319563088)),
    ("cmyk", {"ratio": 8}, ([3, 4, 3], 3385757815)),
    ("cmyk", {"fancy_upscaling": False}, ([19, 25, 3], 2282035018)),
    ("cmyk", {"dct_method": "INTEGER_ACCURATE"}, ([19, 25, 3], 3694948441)),
    ("progressive", {}, ([19, 25, 3], 1785988785)),
    ("progressive", {"channels": 1}, ([19, 25, 1], 3068038165)),
    ("progressive", {"channels": 3}, ([19, 25, 3], 1785988785)),
    ("progressive", {"ratio": 2}, ([10, 13, 3], 2004446800)),
    ("progressive", {"ratio": 8}, ([3, 4, 3], 2950904459)),
    ("progressive", {"fancy_upscaling": False}, ([19, 25, 3], 1002216143)),
    ("progressive", {"dct_method": "INTEGER_ACCURATE"}, ([19, 25, 3], 2489030440)),
]

# The same of the first nine tenths of the file.
TRUNCATED = [
    ("4:4:4", {}, None),
    ("4:4:4", {"try_recover_truncated": True}, ([19, 25, 3], 1221021920)),
    ("4:4:4", {"acceptable_fraction": 0.3}, ([19, 25, 3], 2170272092)),
    ("4:4:4", {"acceptable_fraction": 0.9}, None),
    ("4:2:2", {}, None),
    ("4:2:2", {"try_recover_truncated": True}, ([19, 25, 3], 3652131640)),
    ("4:2:2", {"acceptable_fraction": 0.3}, ([19, 25, 3], 1401621797)),
    ("4:2:2", {"acceptable_fraction": 0.9}, None),
    ("4:2:0", {}, None),
    ("4:2:0", {"try_recover_truncated": True}, ([19, 25, 3], 1042995328)),
    ("4:2:0", {"acceptable_fraction": 0.3}, None),
    ("4:2:0", {"acceptable_fraction": 0.9}, None),
    ("4:1:1", {}, None),
    ("4:1:1", {"try_recover_truncated": True}, ([19, 25, 3], 2611193762)),
    ("4:1:1", {"acceptable_fraction": 0.3}, None),
    ("4:1:1", {"acceptable_fraction": 0.9}, None),
    ("gray", {}, None),
    ("gray", {"try_recover_truncated": True}, ([19, 25, 1], 2232788117)),
    ("gray", {"acceptable_fraction": 0.3}, ([19, 25, 1], 716879256)),
    ("gray", {"acceptable_fraction": 0.9}, None),
    ("cmyk", {}, None),
    ("cmyk", {"try_recover_truncated": True}, ([19, 25, 3], 4195328851)),
    ("cmyk", {"acceptable_fraction": 0.3}, ([19, 25, 3], 3953307046)),
    ("cmyk", {"acceptable_fraction": 0.9}, None),
    ("progressive", {}, None),
    ("progressive", {"try_recover_truncated": True}, None),
    ("progressive", {"acceptable_fraction": 0.3}, None),
    ("progressive", {"acceptable_fraction": 0.9}, None),
]

# (file, window, result) of decode_and_crop_jpeg
CROPPED = [
    ("4:4:4", [0, 0, 4, 5], ([4, 5, 3], 3519474448)),
    ("4:4:4", [3, 9, 8, 11], ([8, 11, 3], 1312533967)),
    ("4:4:4", [10, 20, 10, 5], None),
    ("4:2:2", [0, 0, 4, 5], ([4, 5, 3], 4023525610)),
    ("4:2:2", [3, 9, 8, 11], ([8, 11, 3], 1517152665)),
    ("4:2:2", [10, 20, 10, 5], None),
    ("4:2:0", [0, 0, 4, 5], ([4, 5, 3], 3668671324)),
    ("4:2:0", [3, 9, 8, 11], ([8, 11, 3], 511942154)),
    ("4:2:0", [10, 20, 10, 5], None),
    ("4:1:1", [0, 0, 4, 5], ([4, 5, 3], 1840093351)),
    ("4:1:1", [3, 9, 8, 11], ([8, 11, 3], 100262235)),
    ("4:1:1", [10, 20, 10, 5], None),
    ("gray", [0, 0, 4, 5], ([4, 5, 1], 3680270263)),
    ("gray", [3, 9, 8, 11], ([8, 11, 1], 233131039)),
    ("gray", [10, 20, 10, 5], None),
    ("cmyk", [0, 0, 4, 5], ([4, 5, 3], 1180808317)),
    ("cmyk", [3, 9, 8, 11], ([8, 11, 3], 651115018)),
    ("cmyk", [10, 20, 10, 5], None),
    ("progressive", [0, 0, 4, 5], ([4, 5, 3], 720335195)),
    ("progressive", [3, 9, 8, 11], ([8, 11, 3], 1161000429)),
    ("progressive", [10, 20, 10, 5], None),
]
