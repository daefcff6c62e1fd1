import 'reflect-metadata';

import { describe, expect, it } from '@jest/globals';
import { Global, Injectable, Module } from '@nestjs/common';

import { PrismaService } from '#platform';

import { openTestingModule } from '../../../test/harness/testing-module.js';
import { defineTool } from './define-tool.js';
import { ToolRegistry } from './tool.registry.js';
import { ToolProvider, ToolRegistryModule } from './tool-registry.module.js';

const input = { type: 'object' };
const plain = defineTool({ name: 'plain', description: 'd', input, execute: () => 'plain' });

@Injectable()
class Greeting {
  readonly word = 'hello';
}

@Injectable()
class GreetingTool extends ToolProvider {
  constructor(private readonly greeting: Greeting) {
    super();
  }

  readonly tool = defineTool({ name: 'greet', description: 'd', input, execute: () => this.greeting.word });
}

@Module({ imports: [ToolRegistryModule], providers: [Greeting, GreetingTool, { provide: 'plain', useValue: plain }] })
class ApplicationModule {}

@Module({
  imports: [ToolRegistryModule],
  providers: [
    { provide: 'one', useValue: { ...plain } },
    { provide: 'two', useValue: plain },
  ],
})
class LooseModule {}

const twin = defineTool({ name: 'calculate', description: 'd', input, execute: () => '' });

@Module({ imports: [ToolRegistryModule], providers: [{ provide: 'twin', useValue: twin }] })
class ClashingModule {}

/** No tool here has a feature flag, so no flag is read. */
@Global()
@Module({ providers: [{ provide: PrismaService, useValue: {} }], exports: [PrismaService] })
class NoDatabaseModule {}

async function boot(module: new () => object): Promise<readonly string[]> {
  const app = await openTestingModule({ imports: [NoDatabaseModule, module] });
  const names = app
    .get(ToolRegistry)
    .list()
    .map((tool) => tool.name);
  await app.close();
  return names;
}

describe('ToolRegistryModule', () => {
  it('finds tools among the providers of any module', async () => {
    expect(await boot(ApplicationModule)).toEqual([
      'add_numbers',
      'ask_person',
      'calculate',
      'get_current_time',
      'greet',
      'plain',
    ]);
  });

  it('accepts only tools of defineTool', async () => {
    expect(await boot(LooseModule)).toEqual(['add_numbers', 'ask_person', 'calculate', 'get_current_time', 'plain']);
  });

  it('fails to start with two tools of one name', async () => {
    await expect(boot(ClashingModule)).rejects.toThrow('its name is taken');
  });
});
