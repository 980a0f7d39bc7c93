"""What the tools build: one program that Lambda's machines can start."""

import re
import stat
import subprocess
import zipfile

import pytest

# Amazon Linux 2023's.
NEWEST_GLIBC = (2, 34)
LARGEST_ZIP = 4_000_000


@pytest.fixture(scope="module")
def archive(built):
    return built / "target/lambda/bootstrap/bootstrap.zip"


@pytest.fixture(scope="module", params=["cargo-lambda", "sam"])
def program(request, built, archive, tmp_path_factory):
    if request.param == "sam":
        return built / ".aws-sam/build/Function/bootstrap"
    folder = tmp_path_factory.mktemp("unzipped")
    with zipfile.ZipFile(archive) as packed:
        return packed.extract("bootstrap", folder)


def readelf(option, program):
    return subprocess.run(["readelf", "--wide", option, program], check=True, capture_output=True, text=True).stdout


def test_sam_ships_the_program_alone(built):
    folder = built / ".aws-sam/build/Function"
    assert [path.name for path in folder.iterdir()] == ["bootstrap"]
    assert (folder / "bootstrap").stat().st_mode & 0o111 == 0o111


def test_the_zip_holds_one_executable(archive):
    (entry,) = zipfile.ZipFile(archive).infolist()
    assert entry.filename == "bootstrap"
    assert stat.S_IMODE(entry.external_attr >> 16) & 0o555 == 0o555


def test_the_zip_is_small(archive):
    size = archive.stat().st_size
    print(f"{size / 1e6:.2f} MB")
    assert size <= LARGEST_ZIP


def test_it_is_for_x86_64(program):
    header = readelf("--file-header", program)
    assert "X86-64" in header and "ELF64" in header


def test_it_needs_no_newer_c_library_than_lambda_has(program):
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", readelf("--version-info", program))}
    print(f"highest: {max(versions)}")
    assert max(versions) <= NEWEST_GLIBC


def test_it_needs_no_library_that_lambda_lacks(program):
    needed = set(re.findall(r"Shared library: \[(.+?)\]", readelf("--dynamic", program)))
    assert needed <= {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "libpthread.so.0", "libdl.so.2", "librt.so.1"}


def test_it_carries_no_symbols(program):
    assert ".symtab" not in readelf("--sections", program)
