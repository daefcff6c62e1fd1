export default {
  // Spec files run as modules of Node, which a worker process loads once.
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
  maxWorkers: 3, // on two cores: a third of the time of a file is waiting
  // A worker with a large heap needs over Jest's 500 ms to end on a busy machine.
  workerGracefulExitTimeout: 10_000,
  // Spec files and what they opened stay in their process: without an end to it, the last of hundreds have no memory left.
  workerIdleMemoryLimit: '1536MB',
  setupFiles: ['<rootDir>/test/harness/property-seed.ts'],
  globals: { propertySeed: Number(process.env.PROPERTY_SEED ?? 1) },
};
