/** Settings by which a failed model request fails its job at once: most tests do not test provider outages. */
export const failAtOnce = { MODEL_RETRY_FOR_MS: '0', ON_PROVIDER_DOWN: 'fail', MODEL_BREAKER_FAILURES: '0' } as const;
