import { Module } from '@nestjs/common';

/** Chats whose documents are in a Syntrix database. */
@Module({})
export class SyntrixModule {}
