import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../support/http-api.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const DOCS = join(import.meta.dirname, '../../docs');
const guide = readFileSync(join(DOCS, 'integration.md'), 'utf8');
const VECTORS = join(DOCS, 'signature-vectors.json');
const { vectors, vectors_v2: second } = JSON.parse(readFileSync(VECTORS, 'utf8')) as Record<
  'vectors' | 'vectors_v2',
  { readonly signature: string }[]
>;
const expected = [...vectors, ...second].map(({ signature }) => signature);

const has = (command: string, argument = '--version'): boolean => spawnSync(command, [argument]).status === 0;

/** The guide's code blocks of a language that hold a text. */
function block(language: string, holding: string): string {
  const blocks = [...guide.matchAll(/```(\w+)\n([\s\S]*?)```/g)].filter(
    (match) => match[1] === language && match[2]!.includes(holding),
  );
  if (blocks.length !== 1) throw new Error(`${blocks.length} ${language} blocks hold ${holding}`);
  return blocks[0]![2]!;
}

let directory: string;
let service: TestServer;
beforeAll(async () => {
  directory = temporaryFolder('guide');
  service = await startTestServer();
});
afterAll(() => service?.close());

async function run(command: string, args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { stdout } = await promisify(execFile)(command, [...args], {
    cwd: directory,
    env: { ...process.env, ...env },
    timeout: 60_000,
  });
  return stdout;
}
const write = (name: string, text: string): string => {
  writeFileSync(join(directory, name), text);
  return name;
};

describe('the guide’s signing example reproduces every published vector', () => {
  it.skipIf(!has('python3'))('in Python', async () => {
    const reader = `\nimport json\nall = json.load(open(${JSON.stringify(VECTORS)}, encoding="utf-8"))\nfor v in all["vectors"]:\n    print(sign(v["secret"], v["timestamp"], v["nonce"], v["body"]))\nfor v in all["vectors_v2"]:\n    print(sign_v2(v["secret"], v["timestamp"], v["nonce"], v["method"], v["target"], v["body"]))\n`;
    expect(
      (await run('python3', [write('sign.py', block('python', 'def sign_v2') + reader)])).trim().split('\n'),
    ).toEqual(expected);
  });

  it.skipIf(!has('go', 'version'))('in Go', async () => {
    write('sign.go', block('go', 'func sign'));
    write(
      'main.go',
      `package main\nimport ("encoding/json"; "fmt"; "os")\nfunc main() {\n  data, _ := os.ReadFile(${JSON.stringify(VECTORS)})\n  type vector struct{ Secret, Timestamp, Nonce, Method, Target, Body string }\n  var all struct{ Vectors []vector; Second []vector \`json:"vectors_v2"\` }\n  if err := json.Unmarshal(data, &all); err != nil { panic(err) }\n  for _, v := range all.Vectors { fmt.Println(sign(v.Secret, v.Timestamp, v.Nonce, v.Body)) }\n  for _, v := range all.Second { fmt.Println(signV2(v.Secret, v.Timestamp, v.Nonce, v.Method, v.Target, v.Body)) }\n}\n`,
    );
    expect((await run('go', ['run', 'sign.go', 'main.go'])).trim().split('\n')).toEqual(expected);
  });

  it('in JavaScript', async () => {
    const reader = `\nimport { readFileSync } from 'node:fs';\nconst all = JSON.parse(readFileSync(${JSON.stringify(VECTORS)}, 'utf8'));\nfor (const v of all.vectors) console.log(sign(v.secret, v.timestamp, v.nonce, v.body));\nfor (const v of all.vectors_v2) console.log(signV2(v.secret, v.timestamp, v.nonce, v.method, v.target, v.body));\n`;
    expect(
      (await run(process.execPath, [write('sign.mjs', block('js', 'function signV2') + reader)])).trim().split('\n'),
    ).toEqual(expected);
  });

  it.skipIf(!has('php'))('in PHP', async () => {
    const reader = `\n$all = json_decode(file_get_contents('${VECTORS}'), true);\nforeach ($all['vectors'] as $v) { echo sign($v['secret'], $v['timestamp'], $v['nonce'], $v['body']), "\\n"; }\nforeach ($all['vectors_v2'] as $v) { echo sign_v2($v['secret'], $v['timestamp'], $v['nonce'], $v['method'], $v['target'], $v['body']), "\\n"; }\n`;
    expect((await run('php', [write('sign.php', block('php', 'function sign') + reader)])).trim().split('\n')).toEqual(
      expected,
    );
  });
});

describe('the guide’s requests work as printed', () => {
  it.skipIf(!has('curl') || !has('openssl', 'version'))('with curl and openssl', async () => {
    const script = block('sh', 'call METHOD')
      .replace(/^base=.*$/m, `base=${service.base}`)
      .replace(/^key=.*$/m, `key=${service.key.apiKey}`)
      .replace(/^secret=.*$/m, `secret=${service.key.secret}`);
    const output = await run('sh', [write('curl.sh', script)]);
    expect(output).toContain('"order_id":"order-1042"');
    expect(output).toContain('"payment_status":"unpaid"');
    expect(output.match(/"page_size":20/g)).toHaveLength(2);
  });

  it.skipIf(!has('python3'))('with Python’s standard library', async () => {
    const program = `${block('python', 'def sign_v2')}\n${block('python', 'def call')}
import os
made = call(os.environ["BASE"], os.environ["KEY"], os.environ["SECRET"], "POST", "/api/v1/checkout/sessions/create", {"amount": "10.00", "currency": "USD", "order_id": "ünïcode"})
got = call(os.environ["BASE"], os.environ["KEY"], os.environ["SECRET"], "GET", "/api/v1/checkout/sessions/" + made["id"])
print(got["metadata"]["order_id"])
`;
    const env = { BASE: service.base, KEY: service.key.apiKey, SECRET: service.key.secret, PYTHONIOENCODING: 'utf-8' };
    expect((await run('python3', [write('call.py', program)], env)).trim()).toBe('ünïcode');
  });
});

describe('the code samples of the document', () => {
  const LANGUAGES = {
    curl: ['sh', 'sh', has('curl') && has('openssl', 'version')],
    JavaScript: [process.execPath, 'mjs', true],
    Python: ['python3', 'py', has('python3')],
    PHP: ['php', 'php', has('php')],
    // Run where the compiler is installed.
    Go: ['go', 'go', has('go', 'version')],
  } as const;

  for (const [label, [command, extension, installed]] of Object.entries(LANGUAGES)) {
    it.skipIf(!installed)(`work as printed in ${label}`, async () => {
      const { paths } = (await (await fetch(`${service.base}/openapi.json`)).json()) as {
        paths: Record<string, Record<string, { 'x-codeSamples': { label: string; source: string }[] }>>;
      };
      const sampled = async (
        method: string,
        path: string,
        change = (source: string) => source,
      ): Promise<Record<string, unknown>> => {
        const { source } = paths[path]![method]!['x-codeSamples'].find((sample) => sample.label === label)!;
        const program = write(
          `sample-${label}-${method}.${extension}`,
          change(source.replace('http://127.0.0.1:8080', service.base)),
        );
        const env = { QUITTANCE_API_KEY: service.key.apiKey, QUITTANCE_API_SECRET: service.key.secret };
        return JSON.parse(await run(command, command === 'go' ? ['run', program] : [program], env)) as Record<
          string,
          unknown
        >;
      };
      // The order is the guide's own already, with another body.
      const made = await sampled('post', '/api/v1/checkout/sessions/create', (source) =>
        source.replace('order-1042', `order-${label}`),
      );
      expect(made).toMatchObject({ payment_status: 'unpaid', order_id: `order-${label}` });
      expect(await sampled('get', '/v1/payment/sessions')).toHaveProperty('pagination.page_size');
    });
  }
});

describe('the guide', () => {
  it('names only what the client provides', async () => {
    const client = await import('../../packages/client/src/client.ts');
    const entries: Record<string, object> = {
      client,
      webhooks: await import('../../packages/client/src/webhooks.ts'),
      errors: await import('../../packages/client/src/errors.ts'),
    };
    const quittance: object = client.createClient({ baseUrl: service.base, apiKey: 'k', apiSecret: 's' });
    const called = [...guide.matchAll(/quittance\.(\w+)\.(\w+)/g)].map((match) => [match[1]!, match[2]!] as const);
    expect(called.length).toBeGreaterThan(8);
    for (const [part, method] of called) {
      expect(quittance).toHaveProperty([part, method]);
    }
    const imports = [...guide.matchAll(/import \{ ([\w, ]+) \} from '@quittance\/client(?:\/(\w+))?'/g)];
    expect(imports.length).toBeGreaterThan(2);
    for (const [, names, entry = 'client'] of imports)
      for (const name of names!.split(', ')) expect(entries[entry]).toHaveProperty(name);
  });

  it('links to pages that exist', () => {
    for (const [, target] of guide.matchAll(/\]\(([^)#]+)\)/g))
      expect(() => readFileSync(join(DOCS, target!))).not.toThrow();
  });
});
