import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { allAttacks } from './attacks/all-attacks.js';
import type { Attack } from './attacks/attack.js';
import { get, LatencyProbe, listJobs } from './attacks/latency-probe.js';
import { runAttacker } from './attacks/run-attacker.js';
import { type Aim, atMost, type Bench, type BenchMode, type BenchReport, type Row } from './bench.js';
import { cpuOf, rssOf } from './measure/process-cpu.js';
import { percentile, rounded } from './measure/statistics.js';
import { BenchPostgres } from './stack/bench-postgres.js';
import { startModel } from './stack/model-process.js';
import { createWorkspace, type Nightshift, startNightshift } from './stack/nightshift.js';

/** Limits of production, which the other benches raise. */
const limits = { STARTS_PER_MINUTE: '600', STREAMS_PER_PRINCIPAL: '20', STREAMS_PER_JOB: '100', WORKER_SLOTS: '20' };

/** Whether hostile input delays anything but the attacker. BENCH_ATTACKS names the attacks to run, separated by commas. */
export const attacks: Bench = {
  name: 'attacks',
  about: '/healthz and the p50 of another tenant while one tenant, or no tenant, attacks the API over loopback',
  run: async (mode: BenchMode): Promise<BenchReport> => {
    await using cleanUp = new AsyncDisposableStack();
    const postgres = await BenchPostgres.start();
    cleanUp.defer(() => postgres.close());
    const model = await startModel({ chunks: 5, delayMs: 0, tool: 'none' });
    cleanUp.defer(() => model.close());
    const names = process.env['BENCH_ATTACKS']?.split(',');
    const chosen = allAttacks.filter(({ name }) => names?.includes(name) ?? true);
    const measured: Measured[] = [];
    for (const attack of chosen) {
      mode.say(`${attack.name}: ${attack.about}`);
      measured.push(await measure(mode, { postgres, modelUrl: model.hello.url, attack }));
    }
    return { rows: measured.map(toRow), aims: measured.flatMap(aimsOf) };
  },
};

interface Measured {
  readonly attack: string;
  readonly healthMaxMs: number;
  readonly idleP50Ms: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Requests of the other tenant that were not answered as they should be. */
  readonly failures: number;
  readonly peakMb: number;
  readonly cpuSeconds: number;
  readonly outcomes: string;
}

interface Setting {
  readonly postgres: BenchPostgres;
  readonly modelUrl: string;
  readonly attack: Attack;
}

/** A new server for each attack: what one leaves behind is not the next one's. */
async function measure(mode: BenchMode, { postgres, modelUrl, attack }: Setting): Promise<Measured> {
  await using cleanUp = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'nightshift-bench-data-'));
  cleanUp.defer(() => rm(dataDir, { recursive: true, force: true }));
  const env = { ...limits, DATA_DIR: dataDir };
  const nightshift = await startNightshift(postgres, { modelUrl, roles: ['api', 'worker'], env });
  cleanUp.defer(() => nightshift.close());
  const attacker = await createWorkspace(postgres, modelUrl, 'Attacker');
  const pid = nightshift.processes[0]?.pid ?? 0;
  const seconds = mode.quick ? 4 : 15;
  await observe(nightshift, () => sleep(1_000));
  const idle = await observe(nightshift, () => sleep(mode.quick ? 1_000 : 4_000));
  const peak = watchMemory(pid);
  const cpuBefore = cpuOf(pid);
  let outcomes = '';
  const during = await observe(nightshift, async () => {
    outcomes = await runAttacker(attack.name, { url: nightshift.url, apiKey: attacker.apiKey }, seconds);
  });
  return {
    attack: attack.name,
    healthMaxMs: rounded(Math.max(...during.health.timesMs)),
    idleP50Ms: rounded(percentile(idle.tenant.timesMs, 50)),
    p50Ms: rounded(percentile(during.tenant.timesMs, 50)),
    p99Ms: rounded(percentile(during.tenant.timesMs, 99)),
    failures: during.health.failures + during.tenant.failures,
    peakMb: peak.stop(),
    cpuSeconds: rounded((cpuOf(pid) - cpuBefore) / 1_000),
    outcomes,
  };
}

interface Observed {
  readonly health: LatencyProbe;
  readonly tenant: LatencyProbe;
}

/** Asks /healthz, and as another tenant, for as long as `work` runs. */
async function observe({ url, workspace }: Nightshift, work: () => Promise<void>): Promise<Observed> {
  const health = new LatencyProbe((agent) => get(agent, `${url}/healthz`), 10);
  const tenant = new LatencyProbe((agent) => listJobs(agent, url, workspace.apiKey), 10);
  await work();
  await Promise.all([health.stop(), tenant.stop()]);
  return { health, tenant };
}

/** The most memory that the process has had, in MB, looked at twice a second. */
function watchMemory(pid: number): { stop(): number } {
  let most = rssOf(pid);
  const timer = setInterval(() => (most = Math.max(most, rssOf(pid))), 500);
  return {
    stop: () => {
      clearInterval(timer);
      return Math.round(Math.max(most, rssOf(pid)));
    },
  };
}

function toRow(measured: Measured): Row {
  return { ...measured };
}

function aimsOf({ attack, healthMaxMs, idleP50Ms, p50Ms, failures }: Measured): Aim[] {
  return [
    atMost(`${attack}: longest /healthz`, healthMaxMs, [250, 'ms']),
    atMost(`${attack}: p50 of another tenant beside idle`, rounded(p50Ms / idleP50Ms), [2, 'x']),
    atMost(`${attack}: requests of others that failed`, failures, [0, '']),
  ];
}
