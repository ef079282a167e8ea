import subprocess
import sys


def test_statistics_load_nothing_but_numpy() -> None:
    modules = "superiority paired bootstrap proportion agreement equivalence multiplicity sequence effect cases shares"
    script = f"""
import importlib, sys
for name in {modules.split()!r}:
    importlib.import_module("voirdire.stats." + name)
heavy = {{"scipy", "pandas", "polars", "statsmodels", "sklearn"}} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", script], check=True)
