#include "tests/engine/crash/world.h"

#include <cstring>
#include <set>

#include "absl/strings/str_cat.h"
#include "engine/index/btree.h"
#include "engine/index/key_value.h"

namespace kamino::engine::crash {
namespace {

std::unique_ptr<Transaction> Begin(Rig& rig) {
  return rig.store().Begin(absl::ZeroDuration());
}

// Remembers what was read.
class Witness final : public Reader {
 public:
  explicit Witness(Reader* reader) : reader_(reader) {}
  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) override {
    seen_.insert(id);
    return reader_->Read(id);
  }
  const std::set<ObjectId>& seen() const { return seen_; }

 private:
  Reader* const reader_;
  std::set<ObjectId> seen_;
};

absl::Status WriteId(Transaction& transaction, ObjectId id, uint32_t index,
                     ObjectId value) {
  return transaction.Overwrite(
      id, index * sizeof(value),
      {reinterpret_cast<const std::byte*>(&value), sizeof(value)});
}

absl::Status CheckTree(Reader& reader, ObjectId root, const World& world) {
  KeyValueReader tree(&reader, root);
  auto expected = world.tree.begin();
  std::string wrong;
  absl::Status scanned = tree.Scan(
      "", "", 0, [&](absl::string_view key, const KeyValueReader::Entry& got) {
        if (expected == world.tree.end() || key != expected->first ||
            got.value != expected->second) {
          wrong = absl::StrCat("the tree lists '", key.substr(0, 8),
                               "' or its value wrongly");
          return false;
        }
        ++expected;
        return true;
      });
  if (!scanned.ok()) return scanned;
  if (!wrong.empty()) return absl::InternalError(wrong);
  if (expected != world.tree.end()) {
    return absl::InternalError(absl::StrCat("the tree does not list '",
                                            expected->first.substr(0, 8), "'"));
  }
  for (const auto& [key, value] : world.tree) {
    auto got = tree.Get(key);
    if (!got.ok()) return got.status();
    if (got->value != value) return absl::InternalError("a value is wrong");
  }
  return absl::OkStatus();
}

}  // namespace

void Apply(const Change& change, World* world) {
  for (const auto& [id, payload] : change.objects) {
    if (payload == nullptr) {
      world->objects.erase(id);
    } else {
      world->objects[id] = payload;
    }
  }
  for (const auto& [key, value] : change.tree) {
    if (value.has_value()) {
      world->tree[key] = *value;
    } else {
      world->tree.erase(key);
    }
  }
}

absl::StatusOr<ObjectId> ReadId(Reader& reader, ObjectId id, uint32_t index) {
  auto bytes = reader.Read(id);
  if (!bytes.ok()) return bytes.status();
  ObjectId found;
  std::memcpy(&found, bytes->data() + index * sizeof(found), sizeof(found));
  return found;
}

absl::StatusOr<World> MakeWorld(Rig& rig) {
  auto transaction = Begin(rig);
  const ObjectId root = rig.store().root();
  auto tree = BTree::Create(*transaction);
  if (!tree.ok()) return tree.status();
  absl::Status made = WriteId(*transaction, root, 0, *tree);
  for (uint32_t i = 1; made.ok() && i <= kDirectories; ++i) {
    auto directory = transaction->Alloc(kDirectoryBytes);
    if (!directory.ok()) return directory.status();
    made = WriteId(*transaction, root, i, *directory);
  }
  World world;
  for (const Intent& intent : transaction->write_set()) {
    auto bytes = transaction->Read(intent.object);
    if (!bytes.ok()) return bytes.status();
    world.objects[intent.object] = std::make_shared<const std::string>(
        reinterpret_cast<const char*>(bytes->data()), bytes->size());
  }
  CommitOptions options;
  options.sequence = kWorldSequence;
  if (made.ok()) made = transaction->Commit(options);
  if (!made.ok()) return made;
  rig.store().Quiesce();
  return world;
}

absl::Status CheckObjects(Rig& rig, const World& world,
                          const std::set<ObjectId>& lost) {
  if (rig.live_objects() != world.objects.size()) {
    return absl::InternalError(absl::StrCat(rig.live_objects(),
                                            " objects are live, ",
                                            world.objects.size(), " expected"));
  }
  auto transaction = Begin(rig);
  for (const auto& [id, expected] : world.objects) {
    auto bytes = transaction->Read(id);
    if (lost.count(id) > 0) {
      if (absl::IsDataLoss(bytes.status())) continue;
      return absl::InternalError(
          absl::StrCat("object ", id, " is lost and can be read"));
    }
    if (!bytes.ok()) return bytes.status();
    if (bytes->size() != expected->size()) {
      return absl::InternalError(absl::StrCat("object ", id, " has ",
                                              bytes->size(), " bytes, not ",
                                              expected->size()));
    }
    if (std::memcmp(bytes->data(), expected->data(), expected->size()) == 0) {
      continue;
    }
    size_t at = 0;
    while (static_cast<char>((*bytes)[at]) == (*expected)[at]) ++at;
    return absl::InternalError(absl::StrCat(
        "object ", id, " of ", expected->size(), " bytes differs at ", at,
        ": it has ", absl::Hex((*bytes)[at]), ", not ",
        absl::Hex(static_cast<uint8_t>((*expected)[at]))));
  }
  return transaction->Abort();
}

absl::Status CheckStructure(Rig& rig, const World& world) {
  auto transaction = Begin(rig);
  Witness witness(transaction.get());
  const ObjectId root = rig.store().root();
  auto tree = ReadId(witness, root, 0);
  if (!tree.ok()) return tree.status();
  absl::Status checked = CheckTree(witness, *tree, world);
  for (uint32_t i = 1; checked.ok() && i <= kDirectories; ++i) {
    auto directory = ReadId(witness, root, i);
    for (uint32_t slot = 0; directory.ok() && slot < kSlots; ++slot) {
      auto object = ReadId(witness, *directory, slot);
      if (!object.ok()) return object.status();
      if (*object == kNullObject) continue;
      if (auto bytes = witness.Read(*object); !bytes.ok()) {
        return bytes.status();
      }
    }
    checked = directory.status();
  }
  if (!checked.ok()) return checked;
  for (const auto& [id, unused] : world.objects) {
    if (witness.seen().count(id) == 0) {
      return absl::InternalError(
          absl::StrCat("nothing leads to object ", id, ": it has leaked"));
    }
  }
  if (witness.seen().size() != world.objects.size()) {
    return absl::InternalError("the root leads to an object nobody made");
  }
  return transaction->Abort();
}

}  // namespace kamino::engine::crash
