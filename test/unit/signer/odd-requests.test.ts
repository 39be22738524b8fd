import { connect } from 'node:net';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SigningRequest } from '../../../src/ports/outgoing/signer.ts';
import { jsonLine, readJsonLines } from '../../../src/runtime/util/json-lines.ts';
import { proofOf } from '../../../src/runtime/cryptography/shared-secret.ts';
import { openDoor } from '../../../src/signer/door.ts';
import type { SignerContext } from '../../../src/signer/method.ts';
import { Outgoing } from '../../../src/signer/outgoing.ts';
import { startSignerServer, type SignerServer } from '../../../src/signer/server.ts';
import { bookedIn } from '../../support/booked-refunds.ts';
import { modelEvm } from '../../support/model-chains/evm-model.ts';
import { MODEL_WALLET, type ModelChain } from '../../support/model-chains/model-chain.ts';
import { outgoing } from '../../support/outgoing.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/*
 * Whatever can be written as JSON, at the socket of the signer: it answers in words, goes on, and signs nothing for it.
 */

const SECRET = 'a secret that both sides know, long enough';
const LIMITS = { perTransaction: '45', perHour: '45', perDay: '45', approvalFrom: '1000' };

let directory: string;
let chain: ModelChain;
let server: SignerServer;
let request: SigningRequest;
beforeAll(async () => {
  directory = temporaryFolder('odd-requests');
  chain = await modelEvm();
  const { network, chainId, token, urls, paid } = chain;
  const wallets = new Map([['test' as const, MODEL_WALLET]]);
  const networks = [
    { mode: 'test', network, chainId, tokens: [{ coin: 'USDT', address: token, decimals: 6 }], urls },
  ] as const;
  const rules = { networks, journalDirectory: directory, limits: { USDT: LIMITS }, payoutsPerHour: 9, approvers: [] };
  const context: SignerContext = { wallets, outgoing: bookedIn(new Outgoing(rules, wallets)), audit: null };
  server = await startSignerServer(
    join(directory, 's'),
    openDoor({ kind: 'user', secret: SECRET, acceptedRisks: [] }, { modes: ['test'], pays: true }),
    context,
  );
  const [of] = paid;
  const order = outgoing({
    ...{ kind: 'refund', id: 're_1-1', network, coin: 'USDT', amount: '30', fromAddress: MODEL_WALLET.treasury.evm },
    ...{ toAddress: of!.payer, deposits: [{ ...of!.proof, amount: '30' }] },
  });
  request = { order, attempt: 1, draft: chain.draft(30_000_000n, 1, 0), logPlace: null };
});
afterAll(async () => {
  server.close();
  await chain.close();
});

/** Somebody who is let in; writes lines as they are given. */
async function caller() {
  const socket = connect(join(directory, 's'));
  const answers: Record<string, unknown>[] = [];
  const waiting: ((value: Record<string, unknown>) => void)[] = [];
  readJsonLines(socket, {
    onFault: () => socket.destroy(),
    onValue: (value) => (waiting.shift() ?? ((one) => answers.push(one)))(value as Record<string, unknown>),
  });
  const next = (): Promise<Record<string, unknown>> =>
    answers.length > 0 ? Promise.resolve(answers.shift()!) : new Promise((done) => waiting.push(done));
  const challenges = { signer: (await next())['challenge'] as string, service: randomBytes(32).toString('hex') };
  socket.write(jsonLine({ challenge: challenges.service, proof: proofOf(SECRET, 'service', challenges) }));
  await next();
  const ask = (method: string, params: string): Promise<Record<string, unknown>> => {
    socket.write(`{"id":1,"method":${JSON.stringify(method)},"params":${params}}\n`);
    return next();
  };
  return { ask, end: () => socket.destroy() };
}

const edited = (from: string, to: string): string => {
  const text = JSON.stringify(request);
  if (!text.includes(from)) throw new Error(`no ${from} in the request`);
  return text.replace(from, to);
};

describe('an odd request', () => {
  it('gets an error in words, and nothing is signed for it', async () => {
    const { ask, end } = await caller();
    const odd: string[] = [
      edited('{"order":{', '{"order":{"__proto__":{"kind":"sweep"},'),
      edited('{"order":{', '{"order":{"constructor":{"prototype":{}},'),
      edited('{"order"', '{"__proto__":{"attempt":9},"order"'),
      edited('"amount":"30"', '"amount":30'),
      edited('"amount":"30"', '"amount":["30"]'),
      edited('"amount":"30"', '"amount":"-30"'),
      edited('"amount":"30"', '"amount":"3e1"'),
      edited('"amount":"30"', '"amount":"0x1e"'),
      edited('"amount":"30"', '"amount":"30\\n"'),
      edited('"amount":"30"', '"amount":"\uff13\uff10"'),
      edited('"amount":"30"', '"amount":"\u0663\u0660"'),
      edited('"amount":"30"', `"amount":"${'9'.repeat(400)}"`),
      edited('"id":"re_1-1"', '"id":"re_1\u20101"'),
      edited('"id":"re_1-1"', '"id":"r\u0435_1-1"'),
      edited('"attempt":1', '"attempt":"1"'),
      edited('"attempt":1', '"attempt":1e400'),
      edited('"attempt":1', '"attempt":-1'),
      edited('"attempt":1', '"attempt":1.5'),
      edited('"attempt":1', '"attempt":true'),
      edited('"tokenUnits":"30000000"', '"tokenUnits":30000000'),
      edited('"tokenUnits":"30000000"', '"tokenUnits":"030000000"'),
      edited('"tokenUnits":"30000000"', '"tokenUnits":"-30000000"'),
      edited('"tokenUnits":"30000000"', `"tokenUnits":"${2n ** 256n}"`),
      edited('"nonce":0', '"nonce":9007199254740992'),
      edited('"nonce":0', '"nonce":0.5'),
      edited('"nonce":0', '"nonce":null'),
      edited('"logIndex":0', '"logIndex":4294967296.5'),
      edited('"logIndex":0', '"logIndex":"0"'),
      edited('"network":"ethereum"', '"network":["ethereum"]'),
      edited('"network":"ethereum"', '"network":"ETHEREUM"'),
      edited('"mode":"test"', '"mode":"__proto__"'),
      edited('"logPlace":null', '"logPlace":{"seq":0,"hash":"0"}'),
      'null',
      '[]',
      '"sign"',
      '0',
    ];
    for (const params of odd) {
      const answer = await ask('sign', params);
      expect(answer, params.slice(0, 120)).toMatchObject({ ok: false, error: { code: 'invalid_params' } });
    }
    for (const method of ['__proto__', 'constructor', 'toString', 'Sign', 'sign ', ''])
      expect(await ask(method, '{}')).toMatchObject({ ok: false, error: { code: 'unknown_method' } });
    expect(await ask('status', '{"mode":"test"}')).toMatchObject({ ok: true, result: { entries: 0 } });
    end();
  });

  it('that two clients make at the same time gets one signature, and only the client that connected last is served', async () => {
    const asked = (leg: string, nonce: number): string =>
      JSON.stringify({ ...request, order: { ...request.order, id: leg }, draft: chain.draft(30_000_000n, 1, nonce) });
    const before = await caller();
    let isAnswered = false;
    const unheard = before.ask('sign', asked('re_1-1', 0)).then(() => (isAnswered = true));
    const { ask, end } = await caller();
    const { result } = await ask('sign', asked('re_2-1', 1));
    expect(await ask('status', '{"mode":"test"}')).toMatchObject({ result: { entries: 1 } });
    await Promise.race([unheard, new Promise((done) => setTimeout(done, 50))]);
    expect([(result as { ok: boolean }).ok, isAnswered].filter(Boolean).length).toBeLessThanOrEqual(1);
    expect(await ask('sign', asked('re_3-1', 2))).toMatchObject({ result: { ok: false } });
    end();
  });
});
