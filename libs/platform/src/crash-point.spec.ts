import { afterEach, describe, expect, it } from '@jest/globals';

import { Config, ConfigError } from './config/config.js';
import { armCrashPoint, crashpoint, CrashPointReached } from './crash-point.js';

const armWith = (setting: string) => {
  armCrashPoint(Config.from({ NODE_ENV: 'test', CRASH_POINT: setting }));
};

describe('crashpoint', () => {
  afterEach(() => {
    armCrashPoint(Config.from({}));
  });

  it('does nothing unless it is armed', () => {
    expect(() => {
      crashpoint('after-response');
    }).not.toThrow();
  });

  it('acts only at the point that CRASH_POINT names', () => {
    armWith('after-response:throw');

    expect(() => {
      crashpoint('after-round-commit');
    }).not.toThrow();
    expect(() => {
      crashpoint('after-response');
    }).toThrow(CrashPointReached);
  });

  it('acts once, when it is reached for the N-th time', () => {
    armWith('after-response:throw:2');
    crashpoint('after-response');

    expect(() => {
      crashpoint('after-response');
    }).toThrow(CrashPointReached);
    expect(() => {
      crashpoint('after-response');
    }).not.toThrow();
  });

  it.each(['development', 'production'])('throws with NODE_ENV=%s', (environment) => {
    const config = Config.from({ NODE_ENV: environment, CRASH_POINT: 'after-response:kill' });

    expect(() => {
      armCrashPoint(config);
    }).toThrow(ConfigError);
  });

  it.each(['after-response', 'after-response:explode', 'after-response:kill:0', 'After:kill'])(
    'refuses %s',
    (setting) => {
      expect(() => {
        armWith(setting);
      }).toThrow(ConfigError);
    },
  );
});
