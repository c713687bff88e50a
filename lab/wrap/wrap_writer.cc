#include "lab/wrap/wrap_writer.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace kamino::engine {

using wrap_format::kLineBytes;
using wrap_format::Link;
using wrap_format::Marker;

void WrapWriter::Append(Wrap* wrap, uint64_t address,
                        absl::Span<const std::byte> bytes) const {
  const uint64_t word = wrap_format::MakeRecordWord(address, bytes.size());
  std::vector<std::byte>& records = wrap->records;
  const size_t at = records.size();
  // Records are padded to whole words with 0.
  records.resize(at + wrap_format::RecordBytes(bytes.size()));
  std::memcpy(records.data() + at, &word, sizeof(word));
  std::memcpy(records.data() + at + sizeof(word), bytes.data(), bytes.size());
  WriteLines(wrap, /*all=*/false);
}

void WrapWriter::WriteLines(Wrap* wrap, bool all) const {
  while (wrap->written < wrap->records.size()) {
    const LogPiece& piece = wrap->pieces[wrap->piece];
    const bool first = wrap->piece == 0;
    const uint64_t begin = piece.offset + (first ? sizeof(Marker) : 0);
    const size_t capacity = wrap->CapacityOf(wrap->piece);
    const size_t end =
        std::min(wrap->records.size(), wrap->piece_begin + capacity);
    const bool fills = end == wrap->piece_begin + capacity;
    size_t length = end - wrap->written;
    if (!all && !fills) {
      // `begin` is a line's, and so is what is written up to.
      length = length / kLineBytes * kLineBytes;
      if (length == 0) return;
    }
    if (length > 0) {
      region_->CopyFlush(layout_.At(begin + wrap->written - wrap->piece_begin),
                         wrap->records.data() + wrap->written, length);
    }
    wrap->written += length;
    if (!fills || wrap->piece + 1 == wrap->pieces.size()) continue;
    const LogPiece& next = wrap->pieces[++wrap->piece];
    wrap->piece_begin += capacity;
    const Link link{next.offset, next.bytes};
    region_->CopyFlush(layout_.At(piece.offset + piece.bytes - sizeof(link)),
                       &link, sizeof(link));
  }
}

void WrapWriter::WriteMarker(const Wrap& wrap, uint64_t durable) const {
  Marker marker{};
  marker.sequence = wrap.sequence;
  marker.commit_sequence = wrap.commit_sequence;
  marker.bytes = wrap.records.size();
  marker.durable = durable;
  const uint64_t offset = wrap.pieces.front().offset;
  marker.own_check = layout_.OwnCheckOf(marker, offset);
  marker.check = layout_.CheckOf(marker, offset, wrap.records);
  region_->CopyFlush(layout_.At(offset), &marker, sizeof(marker));
}

}  // namespace kamino::engine
