# SPDX-License-Identifier: Apache-2.0
"""A small reader of TensorBoard's event files, with its own checksum: no line shared with ours."""
import struct


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    while data:
        head, (length, check) = data[:8], struct.unpack("<QI", data[:12])
        body, (tail,) = data[12:12 + length], struct.unpack("<I", data[12 + length:16 + length])
        if masked(head) != check or masked(body) != tail:
            raise ValueError("a checksum is wrong")
        yield body
        data = data[16 + length:]


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of each field of a protocol-buffer message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack("<d", data[at:at + 8])[0], at + 8
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            value, at = struct.unpack("<f", data[at:at + 4])[0], at + 4
        yield number, value


def events(path):
    """(tag, step, wall time, value) of each scalar; the first record is its version."""
    found, version = [], None
    with open(path, "rb") as file:
        for body in records(file.read()):
            event = dict(fields(body))
            if 3 in event:
                version = event[3]
            for _, value in fields(event.get(5, b"")):
                scalar = dict(fields(value))
                found.append((scalar[1].decode(), event.get(2, 0), event[1], scalar[2]))
    return version, found
