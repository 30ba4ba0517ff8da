/** D14, B35, F1: which fields look like a request for a secret, and which do not. */
import { describe, expect, test } from "vitest";
import { looksSecret, readForm } from "../../src/protocol/form/index.ts";

const secretNames = [
  ...["password", "userPassword", "user_password", "dbpassword", "new-password", "pwd", "passwd", "passphrase"],
  ...["passcode", "apiKey", "APIKey", "api_key", "apikey", "OPENAI_API_KEY", "githubToken", "token", "accessToken"],
  ...["access_token", "bearer", "privateKey", "ssh-key", "clientSecret", "secret", "credentials", "pin", "userPIN"],
  ...["pinCode", "cvv", "CVC", "cardNumber", "card_number", "creditCard", "seedPhrase", "recovery_phrase", "mnemonic"],
  ...["otp", "otpCode", "one_time_code", "verificationCode", "mfaCode", "2faCode", "smtpPass", "jwt", "clave"],
  ...[
    "Passwort",
    "motDePasse",
    "contraseña",
    "senha",
    "wachtwoord",
    "haslo",
    "пароль",
    "密码",
    "パスワード",
    "비밀번호",
  ],
  // Attempts to slip past: full-width, zero-width, Cyrillic look-alikes, digits for letters.
  ...["ｐａｓｓｗｏｒｄ", "pass\u200bword", "wacht\u200bwoord", "раssword", "p4ssw0rd", "p@ssword"],
];

const secretTexts = [
  ...["Enter your password", "Password:", "Password. Length 8 or more", "Your PIN", "What is your pin?", "API key"],
  ...["Paste the API keys", "Bearer token", "Card number", "Credit card", "The CVV on the back", "Seed phrase"],
  ...["One-time code", "Security code", "Your access token", "pass word"],
  ...["Passwort eingeben", "Ihr Kennwort", "API-Schlüssel", "privater Schlüssel", "Kreditkartennummer", "Einmalcode"],
  ...["Geheimzahl", "Votre mot de passe", "clé d'API", "Clé privée", "Code PIN", "Numéro de carte", "phrase secrète"],
  ...["Tu contraseña", "Clave de API", "Frase semilla", "Número de tarjeta", "Código de un solo uso", "Tu clave"],
  ...["Sua senha", "Palavra-passe", "Chave da API", "Número do cartão", "Frase de recuperação", "Código de segurança"],
  ...["Parola d'ordine", "Chiave API", "Chiave privata", "Numero della carta", "Codice monouso", "Carta di credito"],
  ...["Uw wachtwoord", "API-sleutel", "Geheime sleutel", "Pincode", "Kaartnummer", "Eenmalige code"],
  ...["Podaj hasło", "Klucz API", "Klucz prywatny", "Numer karty", "Kod PIN", "Kod jednorazowy"],
  ...["Введите пароль", "API-ключ", "Приватный ключ", "Номер карты", "ПИН-код", "Одноразовый код", "Сид-фраза"],
  ...["请输入密码", "输入验证码", "私钥", "助记词", "信用卡卡号", "API密钥", "访问令牌", "金鑰"],
  ...["パスワードを入力", "暗証番号", "秘密鍵", "ＡＰＩキー", "アクセストークン", "カード番号", "認証コード", "ﾊﾟｽﾜｰﾄﾞ"],
  ...["비밀번호를 입력하세요", "API 키", "API키", "개인키", "카드 번호", "인증번호", "액세스 토큰", "시드 구문"],
];

const harmlessNames = [
  ...["tokenCount", "max_tokens", "maxTokens", "keyword", "keywords", "passenger", "secretary", "compass", "pinned"],
  ...["shipping", "spinner", "opinion", "key", "sortKey", "publicKey", "primaryKey", "issueKey", "bypass", "passport"],
  ...["boardingPass", "name", "email", "username", "user_name", "phone", "address", "card", "cardColor", "code"],
  ...["countryCode", "postalCode", "zipCode", "promoCode", "accessLevel", "passwordLength", "passwordPolicy"],
  ...["apiKeyName", "tokenLimit", "tokenSymbol", "stopToken", "secretName", "pinLocation", "mapPin", "seed", "author"],
  ...["libraryCardNumber", "shippingOption", "authorization_url", "description", "tokenize", "passwordless", "captain"],
];

const harmlessTexts = [
  ...[
    "Number of tokens to generate",
    "Token limit",
    "Pin this note to the top",
    "Keyword to search for",
    "Your e-mail",
  ],
  ...["The password policy", "API key name, for your own use", "Compass heading", "Passenger name"],
  ...[
    "Palabra clave",
    "Mot-clé",
    "Schlüsselwort",
    "Stichwort",
    "最大トークン数",
    "令牌数量",
    "토큰 수",
    "キーワード",
    "关键词",
    "Ключевое слово",
  ],
  ...["Parola chiave", "Palavra-chave", "Sleutelwoord", "Słowo kluczowe", "Секретарь", "What is the card color?"],
];

describe("looksSecret", () => {
  test.each(secretNames)("D14, B35: the name %j asks for a secret", (name) => {
    expect(looksSecret(name, { type: "string" })).toEqual(expect.any(String));
  });
  test.each(secretTexts)("F1: the text %j asks for a secret, as title or description", (text) => {
    expect(looksSecret("value", { type: "string", title: text })).toEqual(expect.any(String));
    expect(looksSecret("value", { type: "string", title: "Value", description: text })).toEqual(expect.any(String));
  });
  test.each(harmlessNames)("D14: the name %j is harmless", (name) => {
    expect(looksSecret(name, { type: "string" })).toBeUndefined();
  });
  test.each(harmlessTexts)("D14: the text %j is harmless", (text) => {
    expect(looksSecret("value", { type: "string", title: text, description: text })).toBeUndefined();
  });

  test("it names the word that gave it away", () => {
    expect(looksSecret("userPassword", { type: "string" })).toBe("password");
    expect(looksSecret("x", { type: "string", description: "Paste an API key" })).toBe("api key");
    expect(looksSecret("x", { type: "string", format: "password" })).toBe("password");
  });

  test("a number can be a PIN; a boolean or a choice from the server's list cannot carry a secret", () => {
    expect(looksSecret("pin", { type: "integer" })).toBe("pin");
    expect(looksSecret("resetPassword", { type: "boolean" })).toBeUndefined();
    expect(looksSecret("apiKey", { type: "string", enum: ["key-1", "key-2"] })).toBeUndefined();
    expect(looksSecret("creditCard", { type: "array", items: {} })).toBeUndefined();
  });

  test("F4: a megabyte of text is read in linear time", () => {
    const started = performance.now();
    looksSecret("value", { type: "string", description: "api card code ".repeat(75_000) });
    looksSecret("value", { type: "string", description: "a".repeat(1_000_000) });
    looksSecret("value", { type: "string", description: " ".repeat(1_000_000) });
    looksSecret("value", { type: "string", description: "最大".repeat(500_000) });
    expect(performance.now() - started).toBeLessThan(8_000);
  });

  test("F1 F4: only the first 2,000 characters are looked at, so a form of long titles is read at once", () => {
    expect(looksSecret("value", { type: "string", title: `${"x ".repeat(900)}password` })).toBe("password");
    expect(looksSecret("value", { type: "string", title: `${"x ".repeat(1100)}password` })).toBeUndefined();
    // U+FDFA becomes 18 letters.
    const title = "\ufdfa".repeat(5000);
    const property = { type: "string", title, description: title };
    const properties = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`f${at}${title}`, property]));
    const started = performance.now();
    expect(readForm({ type: "object", properties })).toHaveLength(200);
    expect(performance.now() - started).toBeLessThan(6_000);
  });
});
