"""The main file of a launched application: `python launcher.py [options] app.py [arguments]`, or by spark-submit.

The script takes this module's place as `__main__`, so that nothing else may be defined here.
"""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # Python has put the folder of this file first, where our modules would hide others of the same name.
        del sys.path[0]
    from elastream.launch.launching import launch

    launch(sys.argv[1:])
