'use strict';
(() => {
  const texts = JSON.parse(document.body.dataset.texts);
  /** Wallets that announced themselves: name, networks they can pay on, and how. Announcements are theirs; names are shown as text only. */
  const wallets = new Map();
  const MAX_WALLETS = 12;
  const NAME_LENGTH = 40;

  /** Why nothing was sent; `text` is the key of what the payer is told. */
  class Refused extends Error {
    constructor(text) {
      super(text);
      this.text = text;
    }
  }
  /** What wallets say when the payer declined, and when there is too little; they agree on codes only in part. */
  const REJECTED = /user (?:rejected|denied|declined|cancel)|(?:rejected|declined|cancell?ed) by (?:the )?user/i;
  const NO_GAS =
    /insufficient funds|insufficient lamports|bandwidth|out of energy|balance is not sufficient|no record of a prior credit/i;
  const TOO_LITTLE = /exceeds balance|custom program error: 0x1\b/i;
  const reasonOf = (error) => {
    if (error instanceof Refused) return error.text;
    const said = `${error?.message ?? error} ${error?.data?.message ?? ''}`;
    if (error?.code === 4001 || error?.code === 'ACTION_REJECTED' || REJECTED.test(said)) return 'wallet_rejected';
    if (NO_GAS.test(said)) return 'wallet_gas';
    return TOO_LITTLE.test(said) ? 'wallet_poor' : 'wallet_refused';
  };

  const say = (box, text, bad) => {
    const said = box.querySelector('.said') ?? box.appendChild(document.createElement('p'));
    said.className = bad ? 'said bad' : 'said';
    said.setAttribute('role', 'status');
    said.textContent = text;
  };

  // ERC-20 `transfer(address,uint256)`: four bytes of selector, then both arguments as 32 bytes.
  const word = (hex) => hex.padStart(64, '0');
  const transferCall = ({ to, units }) =>
    `0xa9059cbb${word(to.slice(2).toLowerCase())}${word(BigInt(units).toString(16))}`;

  /** Chains that a wallet may lack, with public facts; nothing of a session or of this service's own providers goes into them. */
  const ADDABLE = {
    56: {
      chainName: 'BNB Smart Chain',
      nativeCurrency: { name: 'BNB', symbol: 'BNB', decimals: 18 },
      rpcUrls: ['https://bsc-dataseed.bnbchain.org'],
      blockExplorerUrls: ['https://bscscan.com'],
    },
  };
  const switchChain = async (provider, chain) => {
    const chainId = `0x${BigInt(chain).toString(16)}`;
    const onChain = async () => BigInt(await provider.request({ method: 'eth_chainId' })) === BigInt(chain);
    if (await onChain()) return;
    const error = await provider
      .request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] })
      .catch((reason) => reason ?? null);
    const unknown = error?.code === 4902 || error?.data?.originalError?.code === 4902;
    if (unknown && ADDABLE[chain])
      await provider
        .request({ method: 'wallet_addEthereumChain', params: [{ chainId, ...ADDABLE[chain] }] })
        .catch(() => null);
    if (!(await onChain())) throw new Refused(unknown ? 'wallet_unknown_chain' : 'wallet_chain');
  };
  /** Why a payer may have declined: wallets show too little money as a payment that cannot be confirmed. */
  const lack = async (provider, call, units) => {
    const ask = (method, ...params) =>
      provider
        .request({ method, params })
        .then(BigInt)
        .catch(() => null);
    const held = await ask(
      'eth_call',
      { to: call.to, data: `0x70a08231${word(call.from.slice(2).toLowerCase())}` },
      'latest',
    );
    if (held !== null && held < BigInt(units)) return 'wallet_poor';
    const [gas, price, coins] = await Promise.all([
      ask('eth_estimateGas', call),
      ask('eth_gasPrice'),
      ask('eth_getBalance', call.from, 'latest'),
    ]);
    return gas !== null && price !== null && coins !== null && coins < gas * price ? 'wallet_gas' : null;
  };

  const payEvm = (provider) => async (facts) => {
    const [from] = await provider.request({ method: 'eth_requestAccounts' });
    await switchChain(provider, facts.chain);
    const call = { from, to: facts.token, value: '0x0', data: transferCall(facts) };
    const sending = provider.request({
      method: 'eth_sendTransaction',
      params: [{ ...call, chainId: `0x${BigInt(facts.chain).toString(16)}` }],
    });
    await sending.catch(async (error) => {
      // Only what was surely not sent may be explained further.
      const why = reasonOf(error) === 'wallet_rejected' ? await lack(provider, call, facts.units) : null;
      throw why === null ? error : new Refused(why);
    });
  };

  /** Sun (10^-6 TRX) a transfer may burn at most: three times what one to a new holder costs. */
  const TRON_FEE_LIMIT = 40_000_000;
  const payTron = (wallet) => async (facts) => {
    const answer = await wallet.request({ method: 'tron_requestAccounts' });
    const tronWeb = wallet.tronWeb || globalThis.tronWeb;
    const from = tronWeb?.defaultAddress?.base58;
    if ((answer?.code !== undefined && answer.code !== 200) || !from) throw new Error('no account');
    // The last four bytes of the first block's id are TRON's chain id.
    const genesis = await tronWeb.trx.getBlock(0);
    if (BigInt(`0x${genesis.blockID.slice(-8)}`) !== BigInt(facts.chain)) throw new Refused('wallet_chain');
    const parameters = [
      { type: 'address', value: facts.to },
      { type: 'uint256', value: facts.units },
    ];
    const account = [{ type: 'address', value: from }];
    const held = await tronWeb.transactionBuilder
      .triggerConstantContract?.(facts.token, 'balanceOf(address)', {}, account, from)
      .catch(() => null);
    if (held?.constant_result?.[0] && BigInt(`0x${held.constant_result[0]}`) < BigInt(facts.units))
      throw new Refused('wallet_poor');
    const options = { feeLimit: TRON_FEE_LIMIT, callValue: 0 };
    const built = await tronWeb.transactionBuilder.triggerSmartContract(
      facts.token,
      'transfer(address,uint256)',
      options,
      parameters,
      from,
    );
    if (!built?.result?.result) throw new Error(built?.result?.message ?? 'refused');
    const sent = await tronWeb.trx.sendRawTransaction(await tronWeb.trx.sign(built.transaction));
    if (!sent?.result) throw new Error(sent?.code ?? 'refused');
  };

  /** Wallet Standard: the wallet signs and sends what the service composed, with the payer's own account as the source. */
  const CONNECT = 'standard:connect';
  const SEND = 'solana:signAndSendTransaction';
  const paySolana = (wallet) => async (facts) => {
    const [account] = (await wallet.features[CONNECT].connect()).accounts;
    if (!account) throw new Error('no account');
    if (!account.chains.includes(facts.chain)) throw new Refused('wallet_chain');
    const query = new URLSearchParams({ payer: account.address, units: facts.units });
    const answer = await fetch(`${facts.transfer}&${query}`, { cache: 'no-store' });
    if (!answer.ok) throw new Error('refused');
    const transaction = Uint8Array.from(atob((await answer.json()).transaction), (character) =>
      character.charCodeAt(0),
    );
    await wallet.features[SEND].signAndSendTransaction({ account, chain: facts.chain, transaction });
  };

  const networkOf = (box) => box.closest('.panel').dataset.network;
  const pay = async (box, button, wallet) => {
    const facts = box.dataset;
    const network = networkOf(box);
    button.disabled = true;
    say(box, texts.wallet_confirm);
    try {
      await wallet.pay(facts);
      // The button stays off: the transfer is on its way, and a second one would be money lost to an excess.
      say(box, texts.wallet_sent);
    } catch (error) {
      button.disabled = false;
      const name = document.querySelector(`label[for=network-${network}] span`).textContent;
      const said = texts[reasonOf(error)];
      say(box, said.replace('{network}', name).replace('{amount}', facts.amount).replace('{coin}', facts.gas), true);
    }
  };

  const show = () => {
    for (const box of document.querySelectorAll('.browser-wallet')) {
      const network = networkOf(box);
      for (const [key, wallet] of wallets) {
        const fits = wallet.networks.includes(network) && (!wallet.chains || wallet.chains.includes(box.dataset.chain));
        if (!fits || box.querySelector(`[data-wallet="${CSS.escape(key)}"]`)) continue;
        const button = document.createElement('button');
        button.type = 'button';
        button.dataset.wallet = key;
        button.textContent = texts.wallet_pay.replace('{wallet}', wallet.name);
        button.addEventListener('click', () => void pay(box, button, wallet));
        box.append(button);
        box.hidden = false;
      }
    }
  };
  const add = (key, name, networks, use) => {
    if (wallets.has(key) || wallets.size >= MAX_WALLETS) return;
    wallets.set(key, { name: String(name).slice(0, NAME_LENGTH), networks, ...use });
    show();
  };

  // EIP-6963: every injected wallet announces itself, so that several live side by side.
  addEventListener('eip6963:announceProvider', ({ detail }) => {
    if (detail?.info?.uuid && detail.provider?.request)
      add(detail.info.uuid, detail.info.name, ['ethereum', 'bsc'], { pay: payEvm(detail.provider) });
  });
  dispatchEvent(new Event('eip6963:requestProvider'));

  // Wallet Standard: wallets that came before the page hear that it is ready, those that come later call.
  const register = (...found) => {
    for (const wallet of found) {
      if (wallet?.features?.[CONNECT] && wallet.features[SEND])
        add(`solana ${wallet.name}`, wallet.name, ['solana'], { pay: paySolana(wallet), chains: wallet.chains });
    }
    return () => {};
  };
  const api = Object.freeze({ register });
  addEventListener('wallet-standard:register-wallet', ({ detail }) => detail(api));
  dispatchEvent(new CustomEvent('wallet-standard:app-ready', { detail: api }));

  // Wallets that announce nothing; some are injected late, so they are looked for a few times.
  const look = () => {
    const announced = [...wallets.values()].some(({ networks }) => networks.includes('ethereum'));
    if (globalThis.ethereum?.request && !announced)
      add('injected', 'Ethereum', ['ethereum', 'bsc'], { pay: payEvm(globalThis.ethereum) });
    if (globalThis.tronLink?.request) add('tronlink', 'TronLink', ['tron'], { pay: payTron(globalThis.tronLink) });
  };
  for (const delayMs of [0, 500, 2000]) setTimeout(look, delayMs);
  document.addEventListener('page-renewed', show);
})();
