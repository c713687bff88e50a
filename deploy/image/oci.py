"""Images for containers as OCI archives, without a container engine.

The same content gives the same bytes: no times, no owners of this machine.
"""

import gzip
import hashlib
import io
import json
import os
import tarfile

_INDEX = "application/vnd.oci.image.index.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


class Layer:
  """The files of one layer of an image, by path without a leading /."""

  def __init__(self):
    self._members = {}  # path: (TarInfo, bytes)

  def _add(self, path, kind, mode, content=b""):
    self._add_folders_of(path)
    info = tarfile.TarInfo(path)
    info.type, info.mode, info.size = kind, mode, len(content)
    self._members[path] = (info, content)
    return info

  def _add_folders_of(self, path):
    parent = os.path.dirname(path)
    if parent and parent not in self._members:
      self.folder(parent)

  def folder(self, path, mode=0o755, owner=0):
    info = self._add(path, tarfile.DIRTYPE, mode)
    info.uid = info.gid = owner

  def text(self, path, content):
    self._add(path, tarfile.REGTYPE, 0o644, content.encode())

  def link(self, path, target):
    self._add(path, tarfile.SYMTYPE, 0o777).linkname = target

  def file(self, path, source):
    """A copy of a file of this machine; it stays executable."""
    with open(source, "rb") as f:
      executable = os.stat(source).st_mode & 0o111
      self._add(path, tarfile.REGTYPE, 0o755 if executable else 0o644, f.read())

  def tar(self):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
      for path in sorted(self._members):
        info, content = self._members[path]
        tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


class _Archive:
  """Blobs that name each other by digest."""

  def __init__(self):
    self._blobs = {}

  def add(self, content, media_type):
    digest = hashlib.sha256(content).hexdigest()
    self._blobs[digest] = content
    return {"mediaType": media_type, "digest": f"sha256:{digest}",
            "size": len(content)}

  def add_json(self, value, media_type):
    return self.add(json.dumps(value, sort_keys=True).encode(), media_type)

  def write(self, path, index):
    files = {f"blobs/sha256/{digest}": content
             for digest, content in self._blobs.items()}
    files["index.json"] = json.dumps(index, sort_keys=True).encode()
    files["oci-layout"] = b'{"imageLayoutVersion": "1.0.0"}'
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
      for name in sorted(files):
        info = tarfile.TarInfo(name)
        info.size = len(files[name])
        tar.addfile(info, io.BytesIO(files[name]))


def write_image(path, name, layers, config):
  """Writes an image of these layers, the lowest first.

  Args:
    path: of the archive.
    name: registry/repository:tag, as tools that load the archive call it.
    config: the OCI image configuration's "config": User, Entrypoint, ...
  Returns:
    The digest of its manifest.
  """
  archive = _Archive()
  descriptors, diff_ids = [], []
  for layer in layers:
    tar = layer.tar()
    diff_ids.append("sha256:" + hashlib.sha256(tar).hexdigest())
    descriptors.append(
        archive.add(gzip.compress(tar, compresslevel=6, mtime=0), _LAYER))
  image = archive.add_json({
      "architecture": "amd64", "os": "linux", "config": config,
      "rootfs": {"type": "layers", "diff_ids": diff_ids},
      "history": [{"created_by": "kamino"} for _ in layers],
  }, _CONFIG)
  manifest = archive.add_json({
      "schemaVersion": 2, "mediaType": _MANIFEST, "config": image,
      "layers": descriptors,
  }, _MANIFEST)
  manifest["annotations"] = {
      "io.containerd.image.name": name,
      "org.opencontainers.image.ref.name": name.rpartition(":")[2],
  }
  archive.write(path, {"schemaVersion": 2, "mediaType": _INDEX,
                       "manifests": [manifest]})
  return manifest["digest"]
