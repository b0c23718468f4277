from andante.frontier.block import decode_links, encode_links


def pack(links, grades):
    return bytes([len(grades) & 255, len(grades) >> 8]) + bytes(grades) + encode_links(list(links))


def unpack(data):
    n = data[0] | data[1] << 8
    return decode_links(data[2 + n :]), data[2 : 2 + n]
