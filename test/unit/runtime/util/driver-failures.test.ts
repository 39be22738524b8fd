import { EventEmitter } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isOfDriver, surviveDrivers } from '../../../../src/runtime/util/driver-failures.ts';
import { REPOSITORY } from '../../../support/repository.ts';

const withStack = (...frames: string[]): Error =>
  Object.assign(new Error('Failed to discover after 10 attempts.'), {
    stack: ['Error: Failed to discover after 10 attempts.', ...frames.map((frame) => `    at ${frame}`)].join('\n'),
  });
const IN_NODE = 'process.processTicksAndRejections (node:internal/process/task_queues:104:5)';
const IN_DRIVER = 'discoverEndpoint (/srv/node_modules/@eventstore/db-client/dist/Client/discovery.js:45:11)';
const IN_OURS = 'EsdbConnection.run (file:///srv/src/adapters/esdb/connection.ts:67:31)';

describe('an error that nobody caught', () => {
  it.each([
    ['of a library, called by ours', withStack(IN_DRIVER, IN_OURS), true],
    ['of a library, below frames of Node.js', withStack(IN_NODE, IN_DRIVER), true],
    ['of the network, without any frame of a program', withStack(IN_NODE), true],
    ['without a stack', Object.assign(new Error('read ECONNRESET'), { stack: undefined }), true],
    ['of our own code', withStack(IN_OURS, IN_DRIVER), false],
    ['of our own code, below frames of Node.js', withStack(IN_NODE, IN_OURS, IN_DRIVER), false],
    ['that is none', 'a text', false],
  ])('%s', (_, error, expected) => expect(isOfDriver(error)).toBe(expected));

  it.each(['unhandledRejection', 'uncaughtException'] as const)(
    'as an %s is told of if a driver made it, and ends the process if we did',
    (event) => {
      const host = new EventEmitter();
      const told: unknown[] = [];
      const ended: unknown[] = [];
      surviveDrivers(
        host,
        (error) => told.push(error),
        (error) => ended.push(error),
      );
      const [ofDriver, ofOurs] = [withStack(IN_DRIVER), withStack(IN_OURS)];
      host.emit(event, ofDriver);
      expect([told, ended]).toEqual([[ofDriver], []]);
      host.emit(event, ofOurs);
      expect([told, ended]).toEqual([[ofDriver], [ofOurs]]);
    },
  );
});

it('every thread has a listener for its failure, without which that ends the process', () => {
  const files = globSync('src/**/*.ts', { cwd: REPOSITORY }).filter((file) =>
    readFileSync(join(REPOSITORY, file), 'utf8').includes('new Worker('),
  );
  expect(files.length).toBeGreaterThan(5);
  expect(files.filter((file) => !/\b(on|once)\('error'/.test(readFileSync(join(REPOSITORY, file), 'utf8')))).toEqual(
    [],
  );
});
