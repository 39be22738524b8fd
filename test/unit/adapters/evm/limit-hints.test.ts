import { describe, expect, test } from 'vitest';
import { adviceOf, type RangeAdvice } from '../../../../src/adapters/evm/limit-hints.ts';
import { ProviderFault, RpcError } from '../../../../src/ports/chain/rpc-pool.ts';

const FROM = 0x1180fca;
const TO = FROM + 49_999;

/** As seen in the wild. */
const CASES: [provider: string, code: number, message: string, data: unknown, advice: RangeAdvice][] = [
  [
    'Infura, results',
    -32005,
    'query returned more than 10000 results. Try with this block range [0x1180FCA, 0x1181000].',
    { from: '0x1180FCA', limit: 10000, to: '0x1181000' },
    { kind: 'up-to', toBlock: 0x1181000 },
  ],
  [
    'Infura, results, data only',
    -32005,
    'query returned more than 10000 results',
    { from: '0x1180FCA', limit: 10000, to: '0x1181000' },
    { kind: 'up-to', toBlock: 0x1181000 },
  ],
  ['Infura, results, no hint', -32005, 'query returned more than 10000 results', undefined, { kind: 'halve' }],
  ['Infura, range', -32602, 'range 50000 exceeds limit of 10000', undefined, { kind: 'at-most', blocks: 10_000 }],
  [
    'Alchemy, size',
    -32602,
    'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters and the response size limit, this block range should work: [0x1180fca, 0x1181fca]',
    undefined,
    { kind: 'up-to', toBlock: 0x1181fca },
  ],
  [
    'Alchemy, free tier',
    -32600,
    'Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range. Based on your parameters, this block range should work: [0x1180fca, 0x1180fd3]. Upgrade to PAYG for expanded block range.',
    undefined,
    { kind: 'up-to', toBlock: 0x1180fd3 },
  ],
  [
    'Alchemy, time',
    -32000,
    'Query timeout exceeded. Consider reducing your block range. Based on your parameters and the response size limit, this block range should work: [0x1180fca, 0x1181080]',
    undefined,
    { kind: 'up-to', toBlock: 0x1181080 },
  ],
  [
    'QuickNode, range',
    -32614,
    'eth_getLogs is limited to a 10,000 range',
    undefined,
    { kind: 'at-most', blocks: 10_000 },
  ],
  ['QuickNode, response', -32012, 'eth_getLogs response is too large', undefined, { kind: 'halve' }],
  ['reth', -32602, 'query exceeds max block range 5000', undefined, { kind: 'at-most', blocks: 5_000 }],
  ['Erigon', -32602, 'query block range exceeds server limit, narrow your filter: 5', undefined, { kind: 'halve' }],
  ['another', -32005, 'block range too large, max range: 2000', undefined, { kind: 'at-most', blocks: 2_000 }],
  [
    'another',
    -32000,
    'requested too many blocks from 0 to 5000000, maximum is set to 1024',
    undefined,
    { kind: 'at-most', blocks: 1_024 },
  ],
  [
    'another',
    -32000,
    'block range is larger than max block range, block range = 50000, max block range = 5000',
    undefined,
    { kind: 'at-most', blocks: 5_000 },
  ],
  ['without words', -32000, 'internal error', undefined, { kind: 'halve' }],
  [
    'without the method',
    -32601,
    'the method eth_getLogs does not exist/is not available',
    undefined,
    { kind: 'give-up' },
  ],
  ['that closed the method', -32000, 'eth_getLogs is disabled on this endpoint', undefined, { kind: 'give-up' }],
  ['that lags', -32000, 'block range extends beyond current head block', undefined, { kind: 'give-up' }],
  [
    'with a hint that is no help',
    -32005,
    'Try with this block range [0x1180FCA, 0x2180FCA]',
    undefined,
    { kind: 'halve' },
  ],
  ['with a hint below the range', -32005, 'Try with this block range [0x1, 0x2]', undefined, { kind: 'halve' }],
];

describe('a refused log range', () => {
  test.each(CASES)('%s (%i): %s', (_provider, code, message, data, advice) => {
    expect(adviceOf(new RpcError(code, message, data), FROM, TO)).toEqual(advice);
  });

  test('that is too long to read is halved; other faults do not change the range', () => {
    expect(adviceOf(new ProviderFault('too-large', ''), FROM, TO)).toEqual({ kind: 'halve' });
    expect(adviceOf(new ProviderFault('unreachable', ''), FROM, TO)).toEqual({ kind: 'give-up' });
  });
});
