import { describe, expect, it } from '@jest/globals';
import type { JobEventOf } from '@nightshift/client';

import { sayEvent } from './say-event.js';

describe('details of a job start event', () => {
  it.each([
    [1, ''],
    [5, 'claim 5'],
  ])('name the epoch of claim %i unless it is the first', (epoch, text) => {
    // As far as it is looked at.
    expect(sayEvent.JobStartedEvent?.({ epoch } as JobEventOf<'JobStartedEvent'>)).toBe(text);
  });
});
