//! Writes files atomically: a file is either complete or does not exist.

use std::{
    fs::{self, File, Permissions},
    io::{self, Write as _},
    os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

/// Mode of files for everyone, from which the umask is subtracted.
const FOR_OTHERS_TOO: u32 = 0o666;

const FOR_THE_OWNER: u32 = 0o600;

/// Fails if the file cannot be written, without changing an existing file.
pub fn check(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    // Opening a pipe and closing it again would look like its end to a reader.
    if fs::metadata(path).is_ok_and(|it| it.file_type().is_fifo()) {
        return Ok(());
    }
    if is_special(path) {
        return File::options().write(true).open(path).map(drop);
    }
    beside(&resolved(path), FOR_OTHERS_TOO).map(drop)
}

/// Returns `true` if two paths lead to one file, which exists.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let [one, other] = [one, other].map(fs::canonicalize);
    matches!((one, other), (Ok(one), Ok(other)) if one == other)
}

/// Writes a file next to its path first and then renames it: a reader sees the old or the new content. A device or a
/// pipe, such as `/dev/stdout`, is written to directly; of a link, the file behind it is replaced.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    write_as(path, content, FOR_OTHERS_TOO)
}

/// Writes a file as [`write()`] does, readable only by its owner.
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    write_as(path, content, FOR_THE_OWNER)
}

fn write_as(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    if is_special(path) {
        return File::options().write(true).open(path)?.write_all(content);
    }
    let path = &resolved(path);
    let mut file = beside(path, mode)?;
    // Writes to the file inside, because errors of the wrapper name the temporary file.
    file.as_file_mut().write_all(content)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Creates a file that only its owner can read, to be written line by line. Opens a device or a pipe; an existing file
/// is an error.
pub fn create_new(path: &Path) -> io::Result<File> {
    if is_special(path) {
        return File::options().write(true).open(path);
    }
    let mut options = File::options();
    options.write(true).create_new(true).mode(FOR_THE_OWNER).open(path)
}

/// Writes a file that only its owner can read, under a free name: `NAME.jsonl`, or `NAME.2.jsonl`, …. Neither existing
/// files nor targets of links are changed.
pub fn write_new(folder: &Path, name: &str, content: &[u8]) -> io::Result<PathBuf> {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, "txt"));
    let mut file = beside(&folder.join(name), FOR_THE_OWNER)?;
    file.as_file_mut().write_all(content)?;
    let mut path = folder.join(name);
    for number in 2_u32.. {
        match file.persist_noclobber(&path) {
            Ok(_) => break,
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => file = error.file,
            Err(error) => return Err(error.error),
        }
        path = folder.join(format!("{stem}.{number}.{extension}"));
    }
    Ok(path)
}

/// Returns `true` for a device, a pipe or a socket.
pub fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir())
}

/// Returns the path behind a link, if it exists.
fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn beside(path: &Path, mode: u32) -> io::Result<NamedTempFile> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        Some(_) | None => PathBuf::from("."),
    };
    if !folder.is_dir() {
        let text = format!("there is no folder {}", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, text));
    }
    tempfile::Builder::new()
        .prefix(".baton-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_no_file_is_written_to_and_a_link_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let (link, file) = (folder.path().join("link"), folder.path().join("file"));
        fs::write(&file, "old").unwrap();
        symlink(&file, &link).unwrap();
        write(&link, b"new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(link.is_symlink());
        let null = folder.path().join("null");
        symlink("/dev/null", &null).unwrap();
        check(&null).unwrap();
        write(&null, b"nothing").unwrap();
        assert!(null.is_symlink() && is_special(&null));
        let full = write(Path::new("/dev/full"), b"x").unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.yaml");
        fs::write(&path, "old").unwrap();
        check(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        write(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_new_file_is_its_owners_and_takes_the_place_of_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recording.jsonl");
        create_new(&path).unwrap().write_all(b"first").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(create_new(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        create_new(Path::new("/dev/null"))
            .unwrap()
            .write_all(b"nothing")
            .unwrap();
    }

    #[test]
    fn a_place_where_no_file_can_be_is_found_before() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(check(folder.path()).unwrap_err().to_string(), "it is a folder");
        let error = check(&folder.path().join("none/report.yaml")).unwrap_err();
        assert!(error.to_string().starts_with("there is no folder"), "{error}");
    }
}
