# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import os
import pathlib
import pickle
import subprocess
import sys
import unittest

import world
import functions
import tarn


class Executors(world.DaemonCase):
    def executor(self, **keys):
        keys["env"] = self.daemon.env()
        executor = tarn.Executor(self.client, folder=os.path.join(self.daemon.root, "x"), **keys)
        self.addCleanup(executor.shutdown, wait=False, cancel_futures=True)
        return executor

    def test_functions_run_as_jobs(self):
        with self.executor(gpus=1) as executor:
            self.assertEqual(executor.submit(functions.add, 1, b=2).result(60), 3)
            future = executor.submit(functions.job)
            self.assertEqual(future.result(60), (future.job_id, "1"))
            self.assertEqual(list(executor.map(functions.add, range(12), range(12))), [2 * i for i in range(12)])
        with self.assertRaisesRegex(RuntimeError, "after shutdown"):
            executor.submit(functions.add, 1)
        self.assertEqual(os.listdir(os.path.join(self.daemon.root, "x")), [])
        self.assertEqual({job.result for job in self.client.list(all=True)}, {"ok"})

    def test_exceptions_come_back(self):
        with self.executor() as executor:
            failure = executor.submit(functions.fail, KeyError, "lr").exception(60)
            self.assertEqual((type(failure), failure.args), (KeyError, ("lr",)))
            self.assertIsInstance(failure.__cause__, tarn.RemoteTraceback)
            self.assertIn("functions.py", str(failure.__cause__))
            with self.assertRaisesRegex(RuntimeError, r"Unreadable\('ab'\)"):
                executor.submit(functions.fail, functions.Unreadable, "a", "b").result(60)
            with self.assertRaisesRegex(RuntimeError, "the result cannot be pickled"):
                executor.submit(functions.generator).result(60)
            with self.assertRaises((pickle.PicklingError, AttributeError)):
                executor.submit(lambda: 1)

    def test_a_job_without_a_result_has_failed(self):
        with self.executor() as executor:
            with self.assertRaisesRegex(tarn.JobFailed, "killed by signal 9") as caught:
                executor.submit(functions.kill_itself).result(60)
            self.assertEqual(caught.exception.job.result, "failed")

    def test_a_function_that_waits_can_be_cancelled(self):
        path = os.path.join(self.daemon.root, "go")
        with self.executor(gpus=4) as executor:
            first, second = executor.submit(functions.wait_for, path), executor.submit(functions.add, 1)
            self.until("the first one runs", first.running)
            self.assertFalse(first.cancel())
            self.assertTrue(second.cancel())
            self.assertTrue(second.cancel())
            with self.assertRaises(concurrent.futures.CancelledError):
                second.result()
            self.until("its job is cancelled", lambda: self.client.get(second.job_id).result == "cancelled")
            third = executor.submit(functions.wait_for, path)
            self.client.cancel(third.job_id)
            with self.assertRaisesRegex(tarn.JobFailed, "cancelled"):
                third.result(60)
            pathlib.Path(path).touch()
            self.assertEqual(first.result(60), path)

    def test_results_survive_a_daemon_that_restarts(self):
        path = os.path.join(self.daemon.root, "go")
        with self.executor(cpus=0.1) as executor:
            futures = [executor.submit(functions.wait_for, path) for _ in range(3)]
            self.until("all run", lambda: all(future.running() for future in futures))
            self.daemon.kill()
            pathlib.Path(path).touch()
            self.daemon.start()
            self.assertEqual([future.result(60) for future in futures], [path] * 3)

    def test_shutdown_cancels_what_waits(self):
        executor = self.executor(hold=True)
        futures = [executor.submit(functions.add, i) for i in range(3)]
        executor.shutdown(cancel_futures=True)
        self.assertTrue(all(future.cancelled() for future in futures))
        self.assertEqual({job.result for job in self.client.list(all=True)}, {"cancelled"})

    def test_functions_of_a_script_are_found(self):
        script = os.path.join(self.daemon.root, "script.py")
        with open(script, "w") as file:
            file.write("import sys, tarn\n\ndef square(x):\n    return x * x\n\n"
                       "if __name__ == '__main__':\n"
                       "    with tarn.Executor(folder=sys.argv[1]) as executor:\n"
                       "        print(list(executor.map(square, [3, 4])))\n")
        environment = {**os.environ, **self.daemon.env(), "TARN_SOCKET": self.daemon.socket,
                       "PYTHONPATH": os.path.dirname(os.path.dirname(tarn.__file__))}
        done = subprocess.run([sys.executable, script, self.daemon.root], env=environment, stdout=subprocess.PIPE, text=True,
                              timeout=120)
        self.assertEqual(done.stdout, "[9, 16]\n")
        self.assertEqual({self.client.logs(job) for job in self.client.list(all=True)}, {""})

    def test_a_script_that_submits_when_it_is_imported_does_so_once(self):
        script = os.path.join(self.daemon.root, "script.py")
        with open(script, "w") as file:
            file.write("import operator, sys, tarn\n\ndef square(x):\n    return x * x\n\n"
                       "with tarn.Executor(folder=sys.argv[1]) as executor:\n"
                       "    print(executor.submit(operator.neg, 3).result())\n"
                       "    print(executor.submit(square, 3).exception())\n")
        environment = {**os.environ, **self.daemon.env(), "TARN_SOCKET": self.daemon.socket,
                       "PYTHONPATH": os.path.dirname(os.path.dirname(tarn.__file__))}
        done = subprocess.run([sys.executable, script, self.daemon.root], env=environment, stdout=subprocess.PIPE, text=True,
                              timeout=120)
        self.assertEqual(done.stdout.splitlines()[0], "-3")
        self.assertIn("only its part below if __name__ == '__main__'", done.stdout)
        self.assertEqual(len(list(self.client.list(all=True))), 2)


if __name__ == "__main__":
    unittest.main()
