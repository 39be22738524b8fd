import { flushCompileCache } from 'node:module';
import { afterAll } from 'vitest';

/* Runs before each test file. Vitest ends its processes before they store what they compiled. */

afterAll(() => flushCompileCache());
