// The `testEnvironment` of jest.config.mjs, beside native-runtime.mjs: the globals of the worker process. What a spec file changes of
// them (variables of the process, mocks, timers, the console) is as before when the next one starts.
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

export default class NativeEnvironment {
  constructor({ projectConfig }) {
    this.projectConfig = projectConfig;
    this.global = {};
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    this.fakeTimers = null;
    this.jest = jestObject(this);
    Object.assign(globalThis, projectConfig.globals);
  }

  exportConditions() {
    return this.projectConfig.testEnvironmentOptions.customExportConditions ?? [];
  }

  getVmContext() {
    return null;
  }

  async setup() {
    this.before = { console: globalThis.console, env: { ...process.env } };
    globalThis.console = this.global.console;
  }

  async teardown() {
    this.fakeTimersModern.dispose();
    // Jest keeps the tests of each file, and so all that they refer to, under another symbol of this name.
    for (const symbol of Object.getOwnPropertySymbols(globalThis))
      if (symbol.description === 'JEST_STATE_SYMBOL') delete globalThis[symbol];
    globalThis.console = this.before.console;
    for (const name of Object.keys(process.env)) if (!(name in this.before.env)) delete process.env[name];
    Object.assign(process.env, this.before.env);
  }
}

function jestObject({ moduleMocker, fakeTimersModern: timers }) {
  const jest = {
    fn: moduleMocker.fn.bind(moduleMocker),
    spyOn: moduleMocker.spyOn.bind(moduleMocker),
    restoreAllMocks: () => (moduleMocker.restoreAllMocks(), jest),
    useFakeTimers: (config) => (timers.useFakeTimers(config), jest),
    useRealTimers: () => (timers.useRealTimers(), jest),
    advanceTimersByTime: (ms) => timers.advanceTimersByTime(ms),
    getTimerCount: () => timers.getTimerCount(),
  };
  return jest;
}
