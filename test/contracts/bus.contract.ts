import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { type Bus, type BusMessages, createLogger } from '#platform';

/** How the suite makes buses that talk to each other. */
export interface BusContractSubject {
  /** The buses of two processes; the same one twice for an adapter that lives in one process. Not started yet. */
  create(): Promise<readonly [Bus, Bus]>;
  /** Breaks the second bus's connection from outside. Left out by an adapter that has none. */
  readonly breakConnection?: () => Promise<void>;
}

const WORKSPACE = '0190a0a0-0000-7000-8000-000000000001';
const JOB = '0190a0a0-0000-7000-8000-000000000002';
const OTHER_JOB = '0190a0a0-0000-7000-8000-000000000003';
const events = (jobId: string, seq: number, status?: string): BusMessages['job-events'] => ({
  workspaceId: WORKSPACE,
  jobId,
  seq,
  ...(status === undefined ? {} : { status }),
});

/** For tests that make listeners fail on purpose. */
export const quietLogger = createLogger({ level: 'silent' });

/** The promises of `Bus`, for every adapter. */
export function busContract(subject: BusContractSubject): void {
  let here: Bus;
  let there: Bus;
  beforeEach(async () => {
    [here, there] = await subject.create();
    await here.start();
    await there.start();
  });
  afterEach(async () => {
    await here.stop();
    await there.stop();
  });

  /** Resolves once `jobId` has reached `seq` at `bus`. */
  const reached = (bus: Bus, jobId: string, seq: number) =>
    new Promise<BusMessages['job-events']>((resolve) => {
      const leave = bus.subscribe('job-events', (message) => {
        if (message.jobId !== jobId || message.seq < seq) return;
        leave();
        resolve(message);
      });
    });

  describe('Bus delivery', () => {
    it('delivers a message once to the subscribers of both processes, including the publisher', async () => {
      const seen: string[] = [];
      here.subscribe('job-runnable', ({ jobId }) => seen.push(`here ${jobId}`));
      there.subscribe('job-runnable', ({ jobId }) => seen.push(`there ${jobId}`));
      const end = [reached(here, OTHER_JOB, 1), reached(there, OTHER_JOB, 1)];
      here.publish('job-runnable', { workspaceId: WORKSPACE, jobId: JOB, kind: 'chat' });
      here.publish('job-events', events(OTHER_JOB, 1));
      await Promise.all(end);
      expect(seen.sort()).toEqual([`here ${JOB}`, `there ${JOB}`]);
    });

    it('delivers every topic unchanged', async () => {
      const seen: unknown[] = [];
      there.subscribe('job-events', (message) => seen.push(message));
      there.subscribe('job-runnable', (message) => seen.push(message));
      there.subscribe('job-cancel', (message) => seen.push(message));
      there.subscribe('interrupts-changed', (message) => seen.push(message));
      there.subscribe('tool-queue', (message) => seen.push(message));
      there.subscribe('tool-cancel', (message) => seen.push(message));
      const last = new Promise<void>((resolve) => {
        there.subscribe('access-changed', (message) => {
          seen.push(message);
          resolve();
        });
      });
      here.publish('job-events', events(JOB, 7, 'running'));
      here.publish('job-runnable', { workspaceId: WORKSPACE, jobId: JOB, kind: 'chat' });
      here.publish('job-cancel', { workspaceId: WORKSPACE, jobId: JOB, why: 'requested “now” ☂' });
      here.publish('interrupts-changed', { workspaceId: WORKSPACE });
      here.publish('tool-queue', { workspaceId: WORKSPACE, queue: 'results' });
      here.publish('tool-cancel', { workspaceId: WORKSPACE, jobId: JOB, toolCallId: OTHER_JOB });
      here.publish('access-changed', { workspaceId: WORKSPACE });
      await last;
      expect(seen).toEqual([
        { workspaceId: WORKSPACE, jobId: JOB, seq: 7, status: 'running' },
        { workspaceId: WORKSPACE, jobId: JOB, kind: 'chat' },
        { workspaceId: WORKSPACE, jobId: JOB, why: 'requested “now” ☂' },
        { workspaceId: WORKSPACE },
        { workspaceId: WORKSPACE, queue: 'results' },
        { workspaceId: WORKSPACE, jobId: JOB, toolCallId: OTHER_JOB },
        { workspaceId: WORKSPACE },
      ]);
    });

    it('delivers after publish has returned', async () => {
      let seen = 0;
      const end = reached(here, JOB, 1);
      here.subscribe('job-events', () => (seen += 1));
      here.publish('job-events', events(JOB, 1));
      expect(seen).toBe(0);
      await end;
    });

    it('keeps the highest seq and the newest status of a job when hints are merged', async () => {
      const seen: BusMessages['job-events'][] = [];
      there.subscribe('job-events', (message) => seen.push(message));
      const end = reached(there, OTHER_JOB, 1);
      here.publish('job-events', events(JOB, 1, 'running'));
      for (let seq = 500; seq > 1; seq -= 1) here.publish('job-events', events(JOB, seq));
      here.publish('job-events', events(OTHER_JOB, 1));
      await end;
      const ofJob = seen.filter(({ jobId }) => jobId === JOB);
      expect(Math.max(...ofJob.map(({ seq }) => seq))).toBe(500);
      expect(ofJob.some(({ status }) => status === 'running')).toBe(true);
      expect(ofJob.length).toBeLessThan(500);
    });

    it('delivers a burst of 2,000 jobs to the other process, each once', async () => {
      const ids = Array.from({ length: 2_000 }, (_, i) => `0190a0a0-0000-7000-8000-${String(i).padStart(12, '0')}`);
      const seen: string[] = [];
      there.subscribe('job-runnable', ({ jobId }) => seen.push(jobId));
      const end = reached(there, JOB, 9);
      for (const jobId of ids) here.publish('job-runnable', { workspaceId: WORKSPACE, jobId, kind: 'chat' });
      here.publish('job-events', events(JOB, 9));
      await end;
      expect(seen).toEqual(ids);
    });
  });

  describe('Bus with several listeners', () => {
    it('calls the other listeners when one throws', async () => {
      here.subscribe('job-events', () => {
        throw new Error('on purpose');
      });
      const end = reached(here, JOB, 1);
      here.publish('job-events', events(JOB, 1));
      await expect(end).resolves.toMatchObject({ seq: 1 });
    });

    it('delivers nothing to a listener that has left, not even messages in transit', async () => {
      let seen = 0;
      const leave = here.subscribe('job-events', () => (seen += 1));
      const end = reached(here, JOB, 1);
      here.publish('job-events', events(JOB, 1));
      leave();
      leave();
      await end;
      expect(seen).toBe(0);
    });
  });

  describe('Bus.stop', () => {
    it('sends buffered messages before it stops', async () => {
      const end = reached(there, JOB, 3);
      here.publish('job-events', events(JOB, 3));
      await here.stop();
      await expect(end).resolves.toMatchObject({ seq: 3 });
    });

    it('accepts a second stop, and ignores a publish after it', async () => {
      await here.stop();
      await here.stop();
      expect(() => {
        here.publish('job-events', events(JOB, 4));
      }).not.toThrow();
    });
  });

  const { breakConnection } = subject;
  if (breakConnection === undefined) return;
  describe('Bus with a lost connection', () => {
    it('reconnects, reports the gap and delivers later messages', async () => {
      const gap = new Promise<void>((resolve) => {
        there.onGap(resolve);
      });
      await breakConnection();
      await gap;
      const end = reached(there, JOB, 5);
      here.publish('job-events', events(JOB, 5));
      await expect(end).resolves.toMatchObject({ seq: 5 });
    });
  });
}
