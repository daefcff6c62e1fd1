import { z } from 'zod';

import { choice, ms, whole } from './setting-kinds.js';

const providerDownActions = ['wait', 'fail'] as const;

/** Timeouts of model requests, and retries while the provider cannot be used. */
export const modelRequestSettings = {
  MODEL_RETRY_FOR_MS: ms(
    [600_000, 0],
    'How long a model request that failed before its first byte is retried at least once a minute. Later retries are less frequent.',
  ),
  MODEL_BACKOFF_MS: ms([1_000, 1], 'Wait before the first such retry; it doubles up to a minute.'),
  MODEL_RETRY_HOLD_MS: ms(
    [5_000, 0],
    'Longest such wait that keeps the worker slot. For a longer one the job becomes `waiting` and releases the slot.',
  ),
  ON_PROVIDER_DOWN: z
    .enum(providerDownActions)
    .default('wait')
    .meta(choice(providerDownActions, 'wait', 'What a job does while its model provider is down: it waits, or fails.')),
  MODEL_WAIT_FOR_MS: ms([86_400_000, 1_000], 'How long a job waits for its model provider before it fails.'),
  MODEL_BREAKER_FAILURES: whole(
    [5, 0, 1_000],
    'Consecutive failures after which a process pauses requests to a provider; 0: never.',
  ),
  MODEL_BREAKER_PAUSE_MS: ms([5_000, 1], 'First such pause; it doubles up to a minute while the provider stays down.'),
  MODEL_FIRST_BYTE_TIMEOUT_MS: ms([60_000], 'Longest wait for the first byte of a model response.'),
  MODEL_IDLE_TIMEOUT_MS: ms([30_000], 'Longest pause between two bytes of a model response.'),
};
