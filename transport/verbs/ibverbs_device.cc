#include "transport/verbs/ibverbs_device.h"

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/verbs/ibverbs_group.h"
#include "transport/verbs/ibverbs_pair.h"

namespace kamino::transport {
namespace {

using IbvContext =
    std::unique_ptr<ibv_context, IbvEnd<ibv_context, ibv_close_device>>;

constexpr size_t kMostGids = 1024;

class DeviceList {
 public:
  DeviceList() : list_(::ibv_get_device_list(&count_)) {}
  ~DeviceList() {
    if (list_ != nullptr) ::ibv_free_device_list(list_);
  }
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;

  // A kernel without RDMA has no list and no devices.
  absl::Span<ibv_device* const> devices() const {
    return {list_, list_ == nullptr ? 0 : static_cast<size_t>(count_)};
  }

 private:
  int count_ = 0;
  ibv_device** const list_;
};

// The inode number of a file, 0 if there is none. For a device's folder in
// sysfs it changes when the device is created again.
ino_t FileNumber(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

bool KindOf(uint32_t type, GidKind* kind) {
  switch (type) {
    case IBV_GID_TYPE_IB:
      *kind = GidKind::kInfiniBand;
      return true;
    case IBV_GID_TYPE_ROCE_V1:
      *kind = GidKind::kRoceV1;
      return true;
    case IBV_GID_TYPE_ROCE_V2:
      *kind = GidKind::kRoceV2;
      return true;
    default:
      return false;
  }
}

class IbverbsDevice final : public VerbsDevice,
                            public std::enable_shared_from_this<IbverbsDevice> {
 public:
  IbverbsDevice(std::string name, std::string folder, IbvContext context)
      : name_(std::move(name)),
        folder_(std::move(folder)),
        folder_number_(FileNumber(folder_)),
        context_(std::move(context)) {}

  const std::string& name() const override { return name_; }
  absl::StatusOr<std::vector<PortInfo>> Ports() override;
  absl::StatusOr<std::unique_ptr<VerbsPair>> CreatePair(
      int port, const PairSize& size) override {
    return IbverbsPair::Create(shared_from_this(), context_.get(), port, size);
  }
  absl::StatusOr<std::shared_ptr<VerbsGroup>> CreateGroup(
      int port, const GroupSize& size) override {
    return IbverbsGroup::Create(shared_from_this(), context_.get(), port, size);
  }
  bool Present() const override {
    return FileNumber(folder_) == folder_number_;
  }
  int event_fd() const override { return context_->async_fd; }
  std::optional<DeviceEvent> NextEvent() override;

 private:
  const std::string name_;
  const std::string folder_;  // of its verbs, in sysfs
  const ino_t folder_number_;
  const IbvContext context_;
};

absl::StatusOr<std::vector<PortInfo>> IbverbsDevice::Ports() {
  ibv_device_attr device = {};
  int error = ::ibv_query_device(context_.get(), &device);
  if (error != 0) {
    return IbvError(absl::StatusCode::kUnavailable, name_, error);
  }
  std::vector<ibv_gid_entry> table(kMostGids);
  const ssize_t gids =
      ::ibv_query_gid_table(context_.get(), table.data(), table.size(), 0);
  if (gids < 0) {
    return IbvError(absl::StatusCode::kUnavailable,
                    absl::StrCat("GIDs of ", name_), static_cast<int>(-gids));
  }
  std::vector<PortInfo> ports;
  for (int number = 1; number <= device.phys_port_cnt; ++number) {
    ibv_port_attr port = {};
    error =
        ::ibv_query_port(context_.get(), static_cast<uint8_t>(number), &port);
    if (error != 0) {
      return IbvError(absl::StatusCode::kUnavailable,
                      absl::StrCat(name_, " port ", number), error);
    }
    PortInfo info;
    info.number = number;
    info.active = port.state == IBV_PORT_ACTIVE;
    info.ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
    info.lid = port.lid;
    info.mtu = size_t{128} << port.active_mtu;
    info.max_message = port.max_msg_sz;
    for (ssize_t i = 0; i < gids; ++i) {
      GidEntry entry;
      if (table[i].port_num != static_cast<uint32_t>(number) ||
          !KindOf(table[i].gid_type, &entry.kind)) {
        continue;
      }
      entry.index = static_cast<int>(table[i].gid_index);
      std::memcpy(entry.gid.data(), table[i].gid.raw, entry.gid.size());
      info.gids.push_back(entry);
    }
    ports.push_back(std::move(info));
  }
  return ports;
}

std::optional<DeviceEvent> IbverbsDevice::NextEvent() {
  ibv_async_event event = {};
  if (::ibv_get_async_event(context_.get(), &event) != 0) return std::nullopt;
  DeviceEvent told;
  told.text = ::ibv_event_type_str(event.event_type);
  switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_PATH_MIG_ERR:
      told.kind = DeviceEvent::Kind::kPairFailed;
      told.pair = event.element.qp->qp_num;
      break;
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      told.kind = DeviceEvent::Kind::kPairDrained;
      told.pair = event.element.qp->qp_num;
      break;
    case IBV_EVENT_SRQ_ERR:
      told.kind = DeviceEvent::Kind::kGroupFailed;
      break;
    case IBV_EVENT_CQ_ERR:
      if (event.element.cq->cq_context == nullptr) {
        told.kind = DeviceEvent::Kind::kGroupFailed;
        break;
      }
      told.kind = DeviceEvent::Kind::kPairFailed;
      told.pair =
          static_cast<IbverbsPair*>(event.element.cq->cq_context)->number();
      break;
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
      told.kind = DeviceEvent::Kind::kPortDown;
      told.port = event.element.port_num;
      absl::StrAppend(&told.text, " (port ", told.port, ")");
      break;
    case IBV_EVENT_DEVICE_FATAL:
      told.kind = DeviceEvent::Kind::kDeviceGone;
      break;
    default:
      break;
  }
  ::ibv_ack_async_event(&event);
  return told;
}

class SystemApi final : public VerbsApi {
 public:
  absl::StatusOr<std::vector<std::string>> DeviceNames() override {
    const DeviceList list;
    std::vector<std::string> names;
    for (ibv_device* device : list.devices()) {
      names.push_back(::ibv_get_device_name(device));
    }
    // The driver's order of discovery must not decide.
    std::sort(names.begin(), names.end());
    return names;
  }

  absl::StatusOr<std::shared_ptr<VerbsDevice>> Open(
      const std::string& name) override {
    const DeviceList list;
    for (ibv_device* device : list.devices()) {
      if (name != ::ibv_get_device_name(device)) continue;
      IbvContext context(::ibv_open_device(device));
      if (context == nullptr) {
        return IbvError(absl::StatusCode::kUnavailable,
                        absl::StrCat("open ", name), errno);
      }
      const int fd = context->async_fd;
      if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) != 0) {
        return IbvError(absl::StatusCode::kUnavailable, "async events", errno);
      }
      return std::make_shared<IbverbsDevice>(name, device->dev_path,
                                             std::move(context));
    }
    return absl::NotFoundError(absl::StrCat("no RDMA device ", name));
  }
};

}  // namespace

std::shared_ptr<VerbsApi> SystemVerbs() {
  return std::make_shared<SystemApi>();
}

}  // namespace kamino::transport
