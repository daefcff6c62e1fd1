import { z } from 'zod';

import { choice, ms, whole } from './setting-kinds.js';

const providerDownActions = ['wait', 'fail'] as const;

/** How long a model request takes at most, and what follows when the provider cannot be used. */
export const modelRequestSettings = {
  MODEL_RETRY_FOR_MS: ms(
    [600_000, 0],
    'For this time a model request that failed before its first byte is retried at least every minute; then less often.',
  ),
  MODEL_BACKOFF_MS: ms([1_000, 1], 'First wait before such a retry; it doubles up to a minute.'),
  MODEL_RETRY_HOLD_MS: ms(
    [5_000, 0],
    'Longest such wait that keeps the worker slot; for a longer one the job becomes `waiting` and gives the slot back.',
  ),
  ON_PROVIDER_DOWN: z
    .enum(providerDownActions)
    .default('wait')
    .meta(
      choice(
        providerDownActions,
        'wait',
        'What a job does when its model provider stays down: it waits, or fails instead of waiting.',
      ),
    ),
  MODEL_WAIT_FOR_MS: ms([86_400_000, 1_000], 'How long a job waits for its model provider until it fails.'),
  MODEL_BREAKER_FAILURES: whole(
    [5, 0, 1_000],
    'Failures in a row after which a process pauses requests to a provider; 0: never.',
  ),
  MODEL_BREAKER_PAUSE_MS: ms([5_000, 1], 'First such pause; it doubles up to a minute while the provider stays down.'),
  MODEL_FIRST_BYTE_TIMEOUT_MS: ms([60_000], 'Longest wait for the first byte of an answer.'),
  MODEL_IDLE_TIMEOUT_MS: ms([30_000], 'Longest silence within an answer.'),
};
