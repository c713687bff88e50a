#include "engine/kamino/transaction_state.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kamino::engine {
namespace {

// From here on objects are looked up by hash.
constexpr size_t kManyObjects = 12;

// Limit of what a cleared state keeps.
constexpr size_t kMostObjects = 256;
constexpr size_t kMostBytes = 64u << 10;
constexpr size_t kMostStates = 8;  // for each thread

// The thread destroys it when it ends; a transaction may end later.
struct Pool {
  ~Pool() { alive = false; }

  std::vector<std::unique_ptr<TransactionState>> states;
  static thread_local bool alive;
};

thread_local bool Pool::alive = true;

// Null once the thread has destroyed it.
Pool* ThisThreadsPool() {
  if (!Pool::alive) return nullptr;
  thread_local Pool pool;
  return &pool;
}

}  // namespace

void ByteBuffer::Grow(size_t size) {
  constexpr size_t kLeast = 4096;
  const size_t capacity = std::max({size, 2 * capacity_, kLeast});
  const size_t lines = (capacity + sizeof(Line) - 1) / sizeof(Line);
  std::unique_ptr<Line[]> larger(new Line[lines]);
  if (size_ > 0) std::memcpy(larger.get(), data_.get(), size_);
  data_ = std::move(larger);
  capacity_ = lines * sizeof(Line);
}

TransactionState::Object* TransactionState::Find(ObjectId id) {
  if (index.empty()) {
    for (Object& object : objects) {
      if (object.id == id) return &object;
    }
    return nullptr;
  }
  const auto found = index.find(id);
  return found == index.end() ? nullptr : &objects[found->second];
}

TransactionState::Object& TransactionState::Add(ObjectId id) {
  objects.emplace_back();
  objects.back().id = id;
  if (objects.size() == kManyObjects) {
    for (size_t i = 0; i < objects.size(); ++i) index[objects[i].id] = i;
  } else if (objects.size() > kManyObjects) {
    index[id] = objects.size() - 1;
  }
  return objects.back();
}

const WriteSet& TransactionState::write_set() {
  for (size_t i = declared_.size(); i < ranges.size(); ++i) {
    declared_.push_back(ranges[i].intent);
  }
  return declared_;
}

void TransactionState::Clear() {
  if (objects.capacity() > kMostObjects || bytes.capacity() > kMostBytes ||
      ranges.capacity() > kMostObjects) {
    *this = TransactionState();
    return;
  }
  owner = sequence = saved = 0;
  declared_.clear();
  foreseen.clear();
  ranges.clear();
  objects.clear();
  reads.clear();
  if (!index.empty()) index.clear();
  bytes.clear();
  claimed = held = false;
}

std::unique_ptr<TransactionState> TransactionState::Take() {
  Pool* const pool = ThisThreadsPool();
  if (pool == nullptr || pool->states.empty()) {
    return std::make_unique<TransactionState>();
  }
  std::unique_ptr<TransactionState> state = std::move(pool->states.back());
  pool->states.pop_back();
  return state;
}

void TransactionState::Recycle(std::unique_ptr<TransactionState> state) {
  Pool* const pool = ThisThreadsPool();
  if (pool == nullptr || pool->states.size() == kMostStates) return;
  state->Clear();
  pool->states.push_back(std::move(state));
}

}  // namespace kamino::engine
