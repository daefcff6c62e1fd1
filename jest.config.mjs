export default {
  // A worker process loads the modules that spec files import once, with Node's own loader.
  runtime: '<rootDir>/test/harness/native-runtime.mjs',
  testEnvironment: '<rootDir>/test/harness/native-environment.mjs',
  testEnvironmentOptions: { customExportConditions: ['nightshift-source', 'node', 'node-addons'] },
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': ['@swc/jest', { swcrc: true }] },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/packages/client/dist/', '<rootDir>/packages/plugin/dist/'],
  testMatch: ['<rootDir>/{apps,libs,packages,test}/**/*.{spec,db-spec,e2e-spec,chaos-spec}.ts'],
  globalSetup: '<rootDir>/test/harness/global-setup.ts',
  globalTeardown: '<rootDir>/test/harness/global-teardown.ts',
  // For a machine under heavy load; a passing test is not slower for it.
  testTimeout: 300_000,
  maxWorkers: 4, // on two cores: a spec file waits for half of its time
  // A worker with a large heap needs over Jest's 500 ms to end on a busy machine.
  workerGracefulExitTimeout: 10_000,
  // Jest replaces an idle worker that uses more memory.
  workerIdleMemoryLimit: '1536MB',
  setupFiles: ['<rootDir>/test/harness/property-seed.ts'],
  globals: { propertySeed: Number(process.env.PROPERTY_SEED ?? 1) },
};
