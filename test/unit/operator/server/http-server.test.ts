import { hash } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createTokenBucketLimiter } from '../../../../src/adapters/memory/token-bucket.ts';
import { fileOperators } from '../../../../src/adapters/node/operators-file.ts';
import { startAdminHttpServer } from '../../../../src/operator/server/http-server.ts';
import { runOperatorCommand } from '../../../../src/operator/people/operators.ts';
import type { AdminCommands } from '../../../../src/operator/server/commands.ts';
import { StoreUnavailable } from '../../../../src/ports/event-log/event-store.ts';
import { parseMasterKeys } from '../../../../src/runtime/cryptography/sealing.ts';
import { authenticationKeys } from '../../../../src/settings/sealing-keys.ts';
import { createClientAddress } from '../../../../src/runtime/http/client-address.ts';
import { MASTER_KEY_TEXT, SEAL_KEYS } from '../../../support/test-keys.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const ofDirectory = () => fileOperators(directory, () => SEAL_KEYS);
let close: () => void = () => undefined;
let directory: string;
beforeEach(() => (directory = temporaryFolder('operators')));
afterEach(() => {
  close();
});

const create = (name: string, role: string, more: Record<string, string> = {}) =>
  runOperatorCommand(ofDirectory(), 'operator.create', { name, role, ...more }, 1_800_000_000) as {
    id: string;
    token: string;
  };
const refused = vi.fn();

async function start(commands: AdminCommands, burst = 100) {
  const server = await startAdminHttpServer({
    host: '127.0.0.1',
    port: 0,
    operators: ofDirectory(),
    streams: {},
    onError: () => expect.unreachable(),
    limiter: createTokenBucketLimiter({ ratePerSec: 0.01, burst }),
    clientAddress: createClientAddress(0),
    onRefused: refused,
    routes: [
      { method: 'GET', path: '/admin/inbox', command: 'inbox.list', query: [] },
      { method: 'POST', path: '/admin/inbox', command: 'inbox.record', query: [] },
    ],
    commands,
  });
  close = () => server.close();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/admin/inbox`;
  return async (token: string, body?: object) => {
    const post = body && { method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}`, connection: 'close' }, ...post });
    return {
      status: answer.status,
      headers: answer.headers,
      json: (await answer.json()) as { error: { code: string; message: string } },
    };
  };
}

it('says when to retry while something is being rebuilt', async () => {
  const call = await start({
    'inbox.list': () => Promise.reject(new StoreUnavailable('the rows of inbox@1 are being built')),
  });
  const answer = await call(create('ada', 'viewer').token);
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
  expect(answer.json).toEqual({
    error: { code: 'service_unavailable', message: 'the rows of inbox@1 are being built' },
  });
});

describe('an operator', () => {
  it('is the actor of what they decide, whatever the request says', async () => {
    const record = vi.fn(async () => ({}));
    const call = await start({ 'inbox.record': record });
    const { token } = create('ada', 'operator');
    expect((await call(token, { reason: 'x' })).status).toBe(200);
    expect(record).toHaveBeenCalledExactlyOnceWith({ reason: 'x', actor: 'ada' });
    const forged = await call(token, { reason: 'x', actor: 'ben' });
    expect([forged.status, forged.json.error.message]).toEqual([
      400,
      expect.stringMatching(/^actor must not be given/),
    ]);
    expect(record).toHaveBeenCalledOnce();
  });

  it('with the role viewer can read but change nothing', async () => {
    const record = vi.fn(async () => ({}));
    const call = await start({ 'inbox.record': record, 'inbox.list': async () => ({}) });
    const { token } = create('vera', 'viewer');
    expect((await call(token)).status).toBe(200);
    expect((await call(token, {})).json.error.code).toBe('forbidden');
    expect(record).not.toHaveBeenCalled();
  });

  it('is let in as soon as there is a token, and out as soon as it is revoked', async () => {
    const call = await start({ 'inbox.list': async () => ({}) });
    const { id, token } = create('ada', 'operator');
    expect((await call(token)).status).toBe(200);
    runOperatorCommand(ofDirectory(), 'operator.revoke', { operator_id: id }, 0);
    expect((await call(token)).status).toBe(401);
  });

  it('who guesses tokens is logged, slowed down and finally refused, while a valid token passes', async () => {
    refused.mockClear();
    const call = await start({ 'inbox.list': async () => ({}) }, 3);
    const { token } = create('ada', 'operator');
    const before = performance.now();
    const guesses = await Promise.all(Array.from({ length: 5 }, (_, index) => call(`qop_${index}${'x'.repeat(42)}`)));
    expect(performance.now() - before).toBeGreaterThan(450);
    expect(guesses.map(({ status }) => status).sort()).toEqual([401, 401, 401, 429, 429]);
    expect(guesses.find(({ status }) => status === 429)!.headers.get('retry-after')).toBe('100');
    expect(refused).toHaveBeenCalledTimes(5);
    expect(refused).toHaveBeenCalledWith('127.0.0.1', '/admin/inbox');
    expect((await call(token)).status).toBe(200);
  });
});

describe('tokens of operators', () => {
  it('are kept as hashes, in a file of their owner alone', () => {
    const { token } = create('ada', 'operator');
    const file = join(directory, 'operators.json');
    expect(readFileSync(file, 'utf8')).not.toContain(token);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const listed = runOperatorCommand(ofDirectory(), 'operator.list', {}, 0);
    expect(listed).toEqual([
      { id: expect.stringMatching(/^op_/) as string, name: 'ada', role: 'operator', created_at: 1_800_000_000 },
    ]);
  });

  it('are refused when somebody who lacks the key wrote or changed their entries', async () => {
    const call = await start({ 'inbox.list': async () => ({}), 'inbox.record': async () => ({}) });
    const { token } = create('vera', 'viewer');
    const file = join(directory, 'operators.json');
    const [entry] = JSON.parse(readFileSync(file, 'utf8')) as { readonly hash: string }[];
    const own = `qop_${'x'.repeat(43)}`;
    const forged = [
      [{ ...entry, role: 'operator' }, token],
      [{ ...entry, name: 'ada' }, token],
      [{ ...entry, hash: hash('sha256', own) }, own],
      [{ ...entry, hash: '' }, own],
    ] as const;
    for (const [changed, presented] of forged) {
      writeFileSync(file, JSON.stringify([changed]));
      expect((await call(presented)).status).toBe(401);
    }
    const another = fileOperators(directory, () => authenticationKeys(parseMasterKeys('fedcba9876543210'.repeat(4))));
    const { token: theirs } = another.create('mallory', 'operator', 0);
    expect((await call(theirs)).status).toBe(401);
    writeFileSync(file, JSON.stringify([entry]));
    expect((await call(token)).status).toBe(200);
  });

  it('outlive the key that made them while it is held', () => {
    const { token } = create('ada', 'operator');
    const both = parseMasterKeys(`${'fedcba9876543210'.repeat(4)},${MASTER_KEY_TEXT}`);
    expect(fileOperators(directory, () => authenticationKeys(both)).find(token)?.name).toBe('ada');
  });

  it('are written to a file on request, and then not printed', () => {
    const tokenFile = join(directory, 'token');
    expect(create('ada', 'operator', { tokenFile })).not.toHaveProperty('token');
    expect(statSync(tokenFile).mode & 0o777).toBe(0o600);
    expect(ofDirectory().find(readFileSync(tokenFile, 'utf8').trim())?.name).toBe('ada');
    expect(() => create('ben', 'viewer', { tokenFile })).toThrow(/^token-file: .*EEXIST/);
    expect(ofDirectory().list()).toHaveLength(1);
  });

  it.each([
    [{ name: '', role: 'viewer' }, /^name is missing/],
    [{ name: 'a\nb', role: 'viewer' }, /^name must be/],
    [{ name: 'ada', role: 'root' }, /^role must be viewer or operator/],
  ])('are not made for %o', (args, message) => {
    expect(() => runOperatorCommand(ofDirectory(), 'operator.create', args, 0)).toThrow(message);
  });

  it('are one for each name, and an unknown one is not revoked', () => {
    create('ada', 'viewer');
    expect(() => create('ada', 'operator')).toThrow(/^name: ada already has a token/);
    expect(() => runOperatorCommand(ofDirectory(), 'operator.revoke', { operator_id: 'op_x' }, 0)).toThrow(
      /^operator_id: there is no/,
    );
  });
});
