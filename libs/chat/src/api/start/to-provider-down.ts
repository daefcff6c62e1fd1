import { AppError } from '#platform';

import type { ProviderDownOptions } from '../../outages/provider-outages.service.js';

/** The longest time for which failed model requests may be retried with a backoff of at most about one minute: 7 days. */
export const maxModelRetryForMs = 604_800_000;

/**
 * Reads the options of a start for a model provider that is down; null counts as absent. Throws `bad_request` with the invalid field. Pure.
 */
export function toProviderDown(given: { readonly modelRetryForMs?: unknown; readonly onProviderDown?: unknown }): {
  readonly providerDown?: ProviderDownOptions;
} {
  const { modelRetryForMs: ms, onProviderDown: action } = given;
  if (ms != null && !(typeof ms === 'number' && Number.isInteger(ms) && ms >= 0 && ms <= maxModelRetryForMs))
    throw invalid('modelRetryForMs', `a whole number from 0 to ${maxModelRetryForMs}`);
  if (action != null && action !== 'wait' && action !== 'fail') throw invalid('onProviderDown', 'wait or fail');
  if (ms == null && action == null) return {};
  return {
    providerDown: {
      ...(ms == null ? {} : { modelRetryForMs: ms }),
      ...(action == null ? {} : { onProviderDown: action }),
    },
  };
}

function invalid(field: string, allowed: string): AppError {
  return new AppError({ code: 'bad_request', message: `${field} must be ${allowed}`, field });
}
