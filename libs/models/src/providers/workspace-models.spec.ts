import { beforeEach, describe, expect, it } from '@jest/globals';

import { type BusMessages, ManualClock } from '#platform';

import type { WorkspaceModelSettings } from './model-providers.repository.js';
import { WorkspaceModels } from './workspace-models.js';

const settings: WorkspaceModelSettings = { requireUserKey: false, directModels: [], provider: null };

describe('WorkspaceModels', () => {
  let reads: string[];
  let clock: ManualClock;
  let hint: (message: BusMessages['access-changed']) => void;
  let gap: () => void;
  let subscriptions: number;
  let answer: () => Promise<WorkspaceModelSettings | null>;
  let models: WorkspaceModels;

  beforeEach(() => {
    reads = [];
    subscriptions = 0;
    clock = new ManualClock();
    answer = () => Promise.resolve(settings);
    const enter = () => {
      subscriptions++;
      return () => {
        subscriptions--;
      };
    };
    const bus: ConstructorParameters<typeof WorkspaceModels>[1] = {
      subscribe: (_topic, listener) => {
        hint = listener as typeof hint; // the one topic it subscribes to
        return enter();
      },
      onGap: (listener) => {
        gap = listener;
        return enter();
      },
    };
    const settingsOf = (workspaceId: string) => {
      reads.push(workspaceId);
      return answer();
    };
    models = new WorkspaceModels({ settingsOf }, bus, clock);
  });

  it('reads once for all callers within five seconds', async () => {
    await Promise.all([models.of('a'), models.of('a'), models.of('b')]);
    clock.advance(4_999);
    expect(await models.of('a')).toBe(settings);
    expect(reads).toEqual(['a', 'b']);
    clock.advance(1);
    await models.of('a');
    expect(reads).toEqual(['a', 'b', 'a']);
  });

  it('reads again after a hint of that workspace, and after a gap in the hints', async () => {
    await Promise.all([models.of('a'), models.of('b')]);
    hint({ workspaceId: 'a' });
    await Promise.all([models.of('a'), models.of('b')]);
    expect(reads).toEqual(['a', 'b', 'a']);
    gap();
    await Promise.all([models.of('a'), models.of('b')]);
    expect(reads).toEqual(['a', 'b', 'a', 'a', 'b']);
  });

  it('does not cache a result that was read before a hint', async () => {
    const slow = Promise.withResolvers<WorkspaceModelSettings>();
    answer = () => slow.promise;
    const first = models.of('a');
    hint({ workspaceId: 'a' });
    answer = () => Promise.resolve(null);
    expect(await models.of('a')).toBeNull();
    slow.resolve(settings);
    await first;
    expect(await models.of('a')).toBeNull();
  });

  it('does not cache a failure', async () => {
    answer = () => Promise.reject(new Error('away'));
    await expect(models.of('a')).rejects.toThrow('away');
    answer = () => Promise.resolve(settings);
    expect(await models.of('a')).toBe(settings);
  });

  it('ends its subscriptions when it is closed', () => {
    expect(subscriptions).toBe(2);
    models.close();
    expect(subscriptions).toBe(0);
  });
});
