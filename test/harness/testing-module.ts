import type { ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';

/** Compiles a container of these modules and providers and runs their start hooks. The caller closes it. */
export async function openTestingModule(metadata: ModuleMetadata): Promise<TestingModule> {
  const testingModule = await Test.createTestingModule(metadata).compile();
  return testingModule.init();
}
