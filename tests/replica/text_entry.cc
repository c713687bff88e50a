#include "tests/replica/text_entry.h"

#include "absl/strings/str_split.h"

namespace kamino::replica {

using engine::IntentKind;
using engine::WriteSet;

std::vector<std::pair<char, std::string>> WritesOf(absl::string_view text) {
  std::vector<std::pair<char, std::string>> writes;
  for (absl::string_view word : absl::StrSplit(text, ' ')) {
    if (word.size() < 2 || word[1] != '=') continue;
    writes.emplace_back(word[0], std::string(word.substr(2)));
  }
  return writes;
}

WriteSet WriteSetOf(absl::string_view text) {
  WriteSet intents;
  for (const auto& [object, value] : WritesOf(text)) {
    intents.push_back({kObjectSpacing * (object - 'a' + 1), 0,
                       static_cast<uint32_t>(value.size()),
                       IntentKind::kWrite});
  }
  return intents;
}

TextBatch::TextBatch(absl::string_view text, uint32_t count)
    : mutations_(count), write_set_(WriteSetOf(text)) {
  if (count > 0) mutations_[0].arguments = std::string(text);
  for (const Mutation& mutation : mutations_) pointers_.push_back(&mutation);
}

LogEntryDraft TextBatch::Draft(uint64_t first, uint64_t view_id) const {
  LogEntryDraft draft;
  draft.first = first;
  draft.chain_id = 1;
  draft.view_id = view_id;
  draft.mutations = pointers_;
  draft.write_set = &write_set_;
  return draft;
}

std::string TextEntry(uint64_t first, absl::string_view text, uint32_t count,
                      uint64_t view_id) {
  return TextBatch(text, count).Draft(first, view_id).ToString();
}

absl::Status AppendText(LogRing* ring, absl::string_view text, uint32_t count) {
  const TextBatch batch(text, count);
  return ring->Append(batch.Draft(ring->received() + 1));
}

absl::Status AppendTextWithImages(LogRing* ring, absl::string_view text) {
  const auto writes = WritesOf(text);
  const auto image_of = [&writes](const engine::Intent& intent) {
    for (const auto& [object, value] : writes) {
      if (kObjectSpacing * (object - 'a' + 1) == intent.object) {
        return absl::string_view(value);
      }
    }
    return absl::string_view();
  };
  const TextBatch batch(text);
  LogEntryDraft draft = batch.Draft(ring->received() + 1);
  draft.image_of.emplace(image_of);
  return ring->Append(draft);
}

std::string TextOf(const LogEntry& entry) {
  const auto mutations = entry.Mutations();
  return mutations.ok() ? std::string(mutations->front().arguments)
                        : std::string(mutations.status().message());
}

}  // namespace kamino::replica
