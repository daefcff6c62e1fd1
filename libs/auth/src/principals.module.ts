import { Module } from '@nestjs/common';

import { PrincipalsRepository } from './principals.repository.js';

/** One cache of principals for all work of a process. Requires a global `PlatformModule`. */
@Module({ providers: [PrincipalsRepository], exports: [PrincipalsRepository] })
export class PrincipalsModule {}
