# Measures llama.cpp (package xllamacpp) as speed.rs measures the embedded model.
# Arguments: model file, prompt, tokens to write, rounds. Prints one line of figures.
import json
import resource
import sys
import urllib.request

import xllamacpp

path, prompt, written, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
params = xllamacpp.CommonParams()
params.model.path = path
params.n_ctx = 2048
params.n_parallel = 1
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def complete(count):
    body = {"prompt": prompt, "n_predict": count, "temperature": 0, "cache_prompt": False, "ignore_eos": True}
    request = urllib.request.Request(
        server.listening_address + "/completion", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    start = cpu()
    answer = json.loads(urllib.request.urlopen(request).read())
    return answer["timings"], cpu() - start


decode, read, prompt_cpus, all_cpus = [], [], [], []
for _ in range(rounds):
    timings, seconds = complete(1)
    read.append(timings["prompt_per_second"])
    prompt_cpus.append(seconds)
    timings, seconds = complete(written)
    decode.append(timings["predicted_per_second"])
    read.append(timings["prompt_per_second"])
    all_cpus.append(seconds)
prompt_cpu = min(prompt_cpus)
decode_cpu = min(all_cpus) - prompt_cpu
best = (max(decode), (written - 1) / decode_cpu, max(read), timings["prompt_n"] / prompt_cpu)
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(
    "decode %.1f tok/s (%.1f tok/cpu-s), prompt %.1f tok/s (%.1f tok/cpu-s), peak memory %d MiB (with Python)"
    % (*best, memory)
)
