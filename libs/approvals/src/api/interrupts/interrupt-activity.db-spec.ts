import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';

import { type MemberPrincipal, type Role, scopeOf } from '#auth';
import type { GraphqlContext, Viewers } from '#auth/api';
import { type Interrupt, InterruptsRepository, JobStopper } from '#jobs';
import { createLogger } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../../test/harness/database.js';
import { startTestEngine, type TestEngine } from '../../../../../test/harness/engine.js';
import { HintBus, openTestIdentities } from '../../../../../test/harness/identities.js';
import { layOutWaitingJob, openInterrupt, type WaitingJob } from '../../../../../test/harness/interrupts.js';
import { InterruptsService } from '../../interrupts/interrupts.service.js';
import { InterruptActivity } from './interrupt-activity.js';
import { InterruptActivityResolver } from './interrupt-activity.resolver.js';

let database: TestDatabase;
let engine: TestEngine;
let app: INestApplicationContext;
let people: Record<Role, MemberPrincipal>;
let job: WaitingJob;
let ending = new AbortController();

beforeAll(async () => {
  database = await createTestDatabase();
  const identities = openTestIdentities(database);
  people = await identities.workspaceOf('acme');
  identities.auth.close();
  engine = await startTestEngine(database, {}, false);
  app = engine.app;
  job = await layOutWaitingJob(app, people.member);
});
afterEach(() => {
  ending.abort();
  ending = new AbortController();
});
afterAll(async () => {
  await engine.close();
  await database.close();
});

/** Looks at nothing by itself. */
class Unpolled extends InterruptActivity {
  protected override readonly pollMs = 3_600_000;
}

/** An activity on a bus that only the test hints on. */
function quietActivity(Activity: typeof InterruptActivity = Unpolled) {
  const bus = new HintBus();
  const logger = createLogger({ level: 'silent' });
  const activity = new Activity(app.get(InterruptsRepository), bus, logger);
  const { workspaceId } = people.owner;
  const watch = () => {
    const changes = activity.changes({ workspaceId }, ending.signal);
    return async () => {
      const { value } = await changes.next();
      return value ?? 'over';
    };
  };
  const hint = () => {
    bus.publish('interrupts-changed', { workspaceId });
  };
  return { bus, activity, watch, hint };
}

const answer = (id: string) => app.get(InterruptsService).decide(people.member, id, { action: 'skip' });

describe('InterruptActivity', () => {
  it('starts empty, then delivers opened and settled requests', async () => {
    const before = await openInterrupt(app, job);
    const { watch, hint } = quietActivity();
    const next = watch();
    expect(await next()).toEqual([]);
    const opened = await openInterrupt(app, job);
    hint();
    expect(await next()).toEqual([opened]);
    await answer(before);
    hint();
    expect(await next()).toEqual([before]);
  });

  it('serves all viewers of a workspace with one read', async () => {
    const { watch, hint, activity } = quietActivity();
    const viewers = [watch(), watch(), watch()];
    for (const next of viewers) expect(await next()).toEqual([]);
    const opened = await openInterrupt(app, job);
    for (let i = 0; i < 100; i += 1) hint();
    expect(await Promise.all(viewers.map((next) => next()))).toEqual([[opened], [opened], [opened]]);
    expect(activity.size).toBe(1);
  });

  it('delivers a request after the bus lost hints', async () => {
    const { bus, watch } = quietActivity();
    const next = watch();
    await next();
    const opened = await openInterrupt(app, job);
    bus.gap();
    expect(await next()).toEqual([opened]);
  });

  it('finds a change without a hint by polling', async () => {
    const { watch } = quietActivity(InterruptActivity);
    const next = watch();
    await next();
    const opened = await openInterrupt(app, job);
    expect(await next()).toEqual([opened]);
  });

  it('releases the bus and the clock when its last viewer leaves', async () => {
    const { bus, activity, watch } = quietActivity();
    const viewers = [watch(), watch()];
    for (const next of viewers) await next();
    expect([activity.size, bus.listening]).toEqual([1, 2]);
    ending.abort();
    expect(await Promise.all(viewers.map((next) => next()))).toEqual(['over', 'over']);
    expect([activity.size, bus.listening]).toEqual([0, 0]);
  });

  it('rejects its viewers when it cannot start, and starts again for the next viewer', async () => {
    const { bus, activity, watch } = quietActivity();
    const repository = app.get(InterruptsRepository);
    const read = repository.openIds.bind(repository);
    repository.openIds = () => Promise.reject(new Error('away'));
    await expect(watch()()).rejects.toThrow('away');
    expect([activity.size, bus.listening]).toEqual([0, 0]);
    repository.openIds = read;
    expect(await watch()()).toEqual([]);
  });
});

describe('InterruptActivity with a viewer that subscribes between two reads', () => {
  it('delivers the end of a request that was settled before the next read', async () => {
    const { activity, watch, hint } = quietActivity();
    await watch()();
    const settled = await openInterrupt(app, job); // nobody hints: no look has seen it
    const viewers = { enterOwn: () => undefined } as unknown as Viewers;
    const resolver = new InterruptActivityResolver(app.get(InterruptsService), activity, viewers);
    const context = {
      member: people.member,
      signal: ending.signal,
      forget: () => undefined,
    } as unknown as GraphqlContext;
    const viewer = resolver.interruptActivity({ filter: null }, context);
    const listed = (await viewer.next()).value ?? [];
    await answer(settled);
    const left = await openInterrupt(app, job);
    hint();
    const delivered: (readonly Interrupt[])[] = [listed];
    while (!delivered.flat().some(({ id }) => id === left)) delivered.push((await viewer.next()).value ?? []);
    expect(delivered.flat().filter(({ id }) => id === settled)).toEqual([]);
  });
});

describe('InterruptActivity hints', () => {
  it('arrive when a request is opened, settled, or closed with its job', async () => {
    const { platform } = engine;
    const heard: string[] = [];
    const waiting: (() => void)[] = [];
    platform.bus.subscribe('interrupts-changed', ({ workspaceId }) => {
      heard.push(workspaceId);
      for (const wake of waiting.splice(0)) wake();
    });
    const next = () => new Promise<void>((resolve) => waiting.push(resolve));
    const other = await layOutWaitingJob(app, people.owner);
    for (const change of [
      () => openInterrupt(app, other),
      async () => app.get(InterruptsService).decide(people.owner, await openInterrupt(app, other), { action: 'skip' }),
      () => app.get(JobStopper).stop(scopeOf(people.owner), other.jobId),
    ]) {
      const delivered = next();
      await change();
      await delivered;
    }
    expect(new Set(heard)).toEqual(new Set([people.owner.workspaceId]));
  });
});
