"""The wheel: CMake builds the module, setuptools packs it with the package of python/ingot."""
import os
import pathlib
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent


class CMakeBuild(build_ext):
    def build_extension(self, extension):
        target = pathlib.Path(self.get_ext_fullpath(extension.name)).resolve()
        # INGOT_PYTHON_BUILD names a build folder to go on with, as ./dev python has one.
        folder = pathlib.Path(os.environ.get("INGOT_PYTHON_BUILD", ROOT / "build/wheel"))
        subprocess.check_call(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DINGOT_PYTHON=ON",
                               f"-DINGOT_PYTHON_INTERPRETER={sys.executable}"])
        subprocess.check_call(["cmake", "--build", folder, "--target", "ingot_python"])
        target.parent.mkdir(parents=True, exist_ok=True)
        built = next((folder / "python/ingot").glob("_core.*.so"))
        self.copy_file(str(built), str(target))


setup(ext_modules=[Extension("ingot._core", sources=[])], cmdclass={"build_ext": CMakeBuild})
