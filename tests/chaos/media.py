"""The files of a node that does not run: where in them what lies, and how to
change it. Layouts: docs/formats/log_entry.md, docs/formats/heap.md,
docs/formats/stamp.md, docs/formats/undo_copy.md."""

import dataclasses
import os
import shutil
import struct

HEAP, RING, UNDO_COPY = "heap.pmem", "ring.pmem", "undo_copy.pmem"
FILES = (HEAP, RING, UNDO_COPY)
DAMAGE = "damage.txt"  # what a node has recorded of its memory

RING_HEADER = 4096
ALIGNMENT = 64
APPLIED_LINES = (64, 128)
CLEANED_LINES = (192, 256)
RECORD_COPIES = (1024, 2048)
RECORD_BYTES = 192
SLOT_MAGIC, WRAP_MAGIC = 0x544f4c53, 0x50415257
SLOT = struct.Struct("<IIQII")
SLOT_BYTES = 32

SUPERBLOCK_BYTES = 216
OBJECTS_FIELDS = struct.Struct("<QQ")  # at 184: offset, bytes
STAMP_AT, STAMP_BYTES = 1024, 24
BLOCK_MAGIC = 0x4b6f
BACKUP_HEADER_BYTES = 64


class NotThere(Exception):
  """There is none of that; one line."""


@dataclasses.dataclass(frozen=True)
class Place:
  """Bytes of a file that say something."""
  file: str
  offset: int
  length: int


def _read(folder, file, offset, length):
  with open(os.path.join(folder, file), "rb") as f:
    f.seek(offset)
    return f.read(length)


def _newest(folder, lines):
  """The line with the largest first word, of a file that is sound."""
  words = {line: struct.unpack("<QQ", _read(folder, RING, line, 16))
           for line in lines}
  return max(words.items(), key=lambda item: item[1])


def applied(folder):
  """Up to which mutation a node had applied, as its ring says."""
  return max(struct.unpack("<QQ", _read(folder, RING, line, 16))[1]
             for line in APPLIED_LINES)


def heap_uuid(folder):
  return _read(folder, HEAP, 24, 16)


def entries(folder):
  """Places of the log entries that the ring still needs, oldest first."""
  _, (sequence, offset) = _newest(folder, CLEANED_LINES)
  generation = struct.unpack("<I", _read(folder, RING, 12, 4))[0]
  size = os.path.getsize(os.path.join(folder, RING))
  found, first, wraps = [], sequence + 1, 0
  while wraps < 2:
    if offset + SLOT_BYTES > size:
      offset, wraps = RING_HEADER, wraps + 1
      continue
    magic, of, number, length, _ = SLOT.unpack(
        _read(folder, RING, offset, SLOT.size))
    if of != generation or number != first:
      break
    if magic == WRAP_MAGIC:
      offset, wraps = RING_HEADER, wraps + 1
      continue
    if magic != SLOT_MAGIC or not length:
      break
    found.append(Place(RING, offset, SLOT_BYTES + length))
    # The entry's count of mutations: docs/formats/log_entry.md, its header.
    first += struct.unpack("<I", _read(folder, RING, offset + SLOT_BYTES + 20,
                                       4))[0]
    whole = SLOT_BYTES + length
    offset += -(-whole // ALIGNMENT) * ALIGNMENT
  return found


def blocks(folder):
  """(place of the word, bytes of the payload, allocated) of each block."""
  begin, length = OBJECTS_FIELDS.unpack(_read(folder, HEAP, 184, 16))
  area = _read(folder, HEAP, begin - 16, length)
  at = 0
  while at < len(area):
    word = struct.unpack_from("<Q", area, at)[0]
    units = word & ((1 << 40) - 1)
    if word >> 48 != BLOCK_MAGIC or not units:
      raise NotThere(f"no block at {begin - 16 + at}")
    yield (Place(HEAP, begin - 16 + at, 8), units * 64 - 16,
           word >> 40 & 0xff == 2)
    at += units * 64


# --- What bits may be flipped in: functions of a folder and dice.

def superblock(folder, dice):
  del folder, dice
  return [Place(HEAP, 0, SUPERBLOCK_BYTES)]


def block_word(folder, dice):
  return [dice.choice([place for place, _, _ in blocks(folder)])]


def stamp(folder, dice):
  del folder, dice
  return [Place(HEAP, STAMP_AT, STAMP_BYTES)]


def object_bytes(folder, dice):
  """Bytes of a large object: pages of the index are small."""
  large = [(place, size) for place, size, used in blocks(folder)
           if used and size > 4096]
  if not large:
    raise NotThere("no object is large")
  place, size = dice.choice(large)
  # The object's key comes first, and unused room may be at the end.
  return [Place(HEAP, place.offset + 16 + size // 4, size // 2)]


def ring_header(folder, dice):
  del folder, dice
  return [Place(RING, 0, 48)]


def ring_mark(folder, dice):
  """The newest of those of one kind."""
  if dice.random() < 0.5:
    line, _ = _newest(folder, CLEANED_LINES)
  else:
    line = max(APPLIED_LINES, key=lambda at: struct.unpack(
        "<QQ", _read(folder, RING, at, 16))[1])
  return [Place(RING, line, 24)]


def ring_entry(folder, dice):
  found = entries(folder)
  if not found:
    raise NotThere("the ring needs none of its entries")
  return [dice.choice(found)]


def _record_line(folder):
  """Place of the newer of the two versions in either copy."""
  lines = [RECORD_COPIES[0] + i * RECORD_BYTES for i in range(2)]
  line, _ = _newest(folder, lines)
  return line - RECORD_COPIES[0]


def record_copy(folder, dice):
  return [Place(RING, dice.choice(RECORD_COPIES) + _record_line(folder),
                RECORD_BYTES)]


def record(folder, dice):
  del dice
  line = _record_line(folder)
  return [Place(RING, copy + line, RECORD_BYTES) for copy in RECORD_COPIES]


def undo_header(folder, dice):
  del dice
  if not os.path.exists(os.path.join(folder, UNDO_COPY)):
    raise NotThere("there is no undo copy")
  return [Place(UNDO_COPY, 0, BACKUP_HEADER_BYTES)]


def flip(folder, place, dice):
  """Flips a bit of it; returns what was there."""
  path = os.path.join(folder, place.file)
  at, bit = place.offset + dice.randrange(place.length), dice.randrange(8)
  with open(path, "r+b") as f:
    f.seek(at)
    before = f.read(1)
    f.seek(at)
    f.write(bytes([before[0] ^ 1 << bit]))
  after = _read(folder, place.file, at, 1)
  if after[0] ^ before[0] != 1 << bit:
    raise OSError(f"no bit has changed at {at} of {path}")
  return f"bit {bit} of byte {at} of {place.file}"


# --- Copies.

def copy_files(source, target):
  """Makes `target`, with all files of a node that are in `source`."""
  os.makedirs(target)
  for file in FILES:
    if os.path.exists(os.path.join(source, file)):
      shutil.copyfile(os.path.join(source, file), os.path.join(target, file))


def same(one, other):
  """Whether two files hold the same."""
  with open(one, "rb") as a, open(other, "rb") as b:
    while True:
      some, others = a.read(1 << 20), b.read(1 << 20)
      if some != others:
        return False
      if not some:
        return True
