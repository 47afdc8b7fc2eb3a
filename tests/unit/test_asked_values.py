"""The kind of value that a question asks for, and texts that have one of that kind."""

import pytest

from rag.answering import asked_value

PHONE = asked_value("What is the phone number?")

NAMED = {
    "a phone number": """
        What's Felix Brandt's phone number?
        Give me the phone number of the front desk.
        What is the phone number for reserving a table?
        Which number do I call?
        Phone number of the workshop?
        Unter welcher Rufnummer erreiche ich die Werkstatt?
        ¿Cuál es el teléfono de la escuela?
        Quel est le numéro de téléphone de l'école ?
        体检中心的电话是多少?
    """,
    "an e-mail address": """
        What is the e-mail address of Joan Farrow?
        Which email address should I write to?
        Which email address do I report damage to?
        Wie lautet die E-Mail-Adresse des Hallenbads?
        ¿Cuál es el correo electrónico de la escuela?
        体检中心的邮箱是多少?
    """,
    "an address of a page or server": """
        Which server address do I connect to?
        What is the URL of the wiki?
        What's the IP address?
        Wie lautet die Internetadresse der Bücherei?
    """,
    "a price": """
        What does a ceramic crown cost?
        What was decided about the module, and what does it cost?
        What do I pay for a caravan?
        What does the company pay for meals?
        What is the highest fare per mile?
        How big is the security deposit?
        How much are the dues of a member?
        How much prize money comes with the award?
        How much am I paid for a night shift?
        What is the most expensive hotel that I may book?
        Was muss ich zahlen, wenn ich zu spät komme?
        Wie hoch ist die Pacht?
        ¿Cuánto cuesta el curso de pan?
        Quel est le montant de la caution ?
        心脏检查多少钱?
    """,
    "a duration": """
        How long does it take to charge the battery?
        How long is the break before lunch?
        How long do I have to wait before I can swim?
    """,
    "a date or time": """
        When do I have to close the valve?
        By what date must I apply?
        Ab wann kann man anreisen?
        Wann stimmt der Vorstand zu?
    """,
    "a number": """
        How many people fit into the room?
        How big is the garden?
        How heavy is the fine?
        How much is left?
        How much paid vacation do I get?
        What is the maximum reimbursement of books?
        How much is the holiday entitlement?
        How much is the maximum weight of a bag?
        What temperature does it need?
        Which port does the proxy listen on?
        Which PHP version does it need?
        Wie viel muss ich trinken?
    """,
    "a name": """
        Who is the head of sales?
        Who is the Chief Control Officer?
        Who is the data controller?
        Who supplies the stove?
        What is the brand of the stove?
        Which company insures the boats?
        Wer ist die Leiterin?
    """,
    "": """
        Describe the house rules.
        Which phone do employees get?
        Which company car may I use?
        Which company policy is that?
        Which day trips are offered?
        Which port does the ferry leave from?
        Which website may I use at work?
        Which costs are covered on business trips?
        What costs are covered?
        What is the link between sleep and weight?
        What brand is the stove?
        What must contractors wear on site?
        What is the penalty for plagiarism?
        Who has to sign the form?
        Was muss ich beim Bezahlen der Miete beachten?
    """,
}
"""Questions by the name of the kind that they ask for."""


@pytest.mark.parametrize("name", NAMED)
def test_a_question_names_the_kind_of_its_value(name):
    asked = {line.strip(): asked_value(line.strip()) for line in NAMED[name].strip().split("\n")}
    assert {text: kind.name if kind else "" for text, kind in asked.items()} == dict.fromkeys(
        asked, name
    )


@pytest.mark.parametrize(
    "question",
    [
        "How do I change my phone number?",
        "What is the email attachment size limit?",
        "What is the phone number used for?",
        "Is my phone number shared with third parties?",
        "Do I need a phone number to register?",
        "What is the phone allowance per month?",
        "How many email addresses can I add?",
        "Can I use a private e-mail address?",
        "Tell me how to change my e-mail address.",
        "Which email address do I use to log in?",
        "Wie ist die Telefonnummer zu ändern?",
        "Was ist die E-Mail-Richtlinie?",
        "¿Hay teléfono en la habitación?",
        "¿Puedo cancelar por correo electrónico?",
        "房间有电话吗？",
        "邮箱容量是多少？",
    ],
)
def test_a_question_about_phones_or_mail_asks_for_no_number_or_address(question):
    kind = asked_value(question)
    assert kind is None or not kind.exact


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("The phone number of the help desk is 4711.", True),
        ("In an emergency, ring 112", True),
        ("Notruf: 112", True),
        ("Tel.-Nr.: 4711", True),
        ("| Telefon | 4711 |", True),
        ("电话：4711", True),
        ("ext. 42", True),
        ("+49 (0) 30 / 12345", True),
        ("0800\u00a0123\u00a04567", True),
        ("01.23.45.67.89", True),
        ("555-1234", True),
        ("+4930123456", True),
        ("Reception is open 9.00-17.00.", False),
        ("192.168.10.20", False),
        ("DE89 3704 0044 0532 0130 00", False),
        ("GB29 NWBK 6016 1331 9268 19", False),
        ("costs 1 250 000 euros", False),
        ("12,850.00 EUR in 1998-2004", False),
        ("1000 - 2000 m", False),
        ("valid 01.02.2024 10.30", False),
        ("from 2025-02-14 on", False),
        ("Call us 24/7.", False),
        ("The hotline is open 24 hours", False),
        ("Phone support is open from 10 to 18", False),
        ("The phone allowance is 50 euros", False),
    ],
)
def test_a_phone_number_is_told_by_its_form(text, there):
    assert PHONE.is_in(text) is there


INSURER = "Which company insures the boats?"
WAIT, OPEN, PAY = "How long do I have to wait?", "When is it open?", "By when do I have to pay?"
COST, LAMP = "How much does it cost?", "How much does a lamp cost?"
WATTS, METRES = "How many watts does the tube have?", "How many metres is the pier long?"
RECORDINGS, LIBRARIES = "How long are recordings kept?", "How many libraries can I create?"
DAY = "By what date must I apply?"
STAFF = "How many employees does 37signals have?"
COST = "How much does the larger plan cost per month?"
SERVER = "Which server address do I connect to?"
JUDGES, FLOORS = "What is the minimum number of judges?", "How many floors does it have?"


@pytest.mark.parametrize(
    ("question", "text", "has_it"),
    [
        (PAY, "You have to pay for the trip, and must keep the receipt for it.", False),
        ("Who is the skipper of the Old Mill?", "The skipper is Ysolde Marchbank.", True),
        ("Who is the skipper of the Old Mill?", "The skipper of the Old Mill has the key.", False),
        ("Who is the director?", "Director Anna Berger leads.", True),
        ("How many people work at Selsk?", "People work at Selsk since 1998.", False),
        ("Who is our captain?", "A. Smith by means of a vote", True),
        ("Who is our captain?", "Captain means the chief.", False),
        ("Who is the Chief Control Officer?", "The Chief Control Officer may seize a dog.", False),
        ("Wer ist die Leiterin?", "Leiterin: Anna Groß", True),
        ("Wer ist die Leiterin?", "Die Leiterin hat Dienst.", False),
        ("Who manufactures the pump?", "Grundfos is the manufacturer of the pump.", True),
        (INSURER, "The boats are insured with Harbour Mutual.", True),
        (INSURER, "Our boats are insured, and so are their crews.", False),
        (INSURER, "Insurer: Harbour", True),
        ("What is the highest fare per mile?", "Fare per mile: 2", True),
        ("What is the highest fare per mile?", "A list of fares hangs in taxis of 3 people", False),
        ("What is the discount fee?", "It is 15 % or Rs 500.", True),
        ("How much is parking?", "Parking is free.", True),
        ("How much is parking?", "Parking is allowed.", False),
        (LAMP, "Lamp: 12 V, 16 A", False),
        (LAMP, "Lamp 40 W: 30", True),
        (COST, "The 30 mg tablets are round, flat tablets marked 30 on one face.", False),
        (COST, "The team meets for 2 rounds, and elects the person who chairs.", False),
        (COST, "A berth in the old harbour of the town is 40 a week, the fee is due.", True),
        (COST, "Berth: outer harbour · Week: 40", True),
        (COST, "Each of the tablets in this pack contains 15 mg of the substance.", False),
        (COST, "Die Parkgebühr beträgt für jede angefangene Stunde auf allen Plätzen 2,50.", True),
        (COST, "La entrada al museo de la ciudad vale 12,50 por persona.", True),
        ("How much money comes with the award?", "It goes to 3 students each year.", False),
        (JUDGES, "At least three judges are there.", True),
        (JUDGES, "The number of judges is decided by the delegate.", False),
        ("How many votes were against the report?", "Opposed: 0", True),
        ("How many votes were against the report?", "No questions came in 2023.", False),
        (FLOORS, "It has 3 floors.", True),
        (FLOORS, "It opens after 3 days.", False),
        ("How many seats has the hall?", "Closed in 2021.", False),
        ("How many devices may I use?", "There is no limit.", True),
        ("How many cores does it use?", "It uses all available cores.", True),
        (LIBRARIES, "This becomes “Library 1”.", False),
        (LIBRARIES, "You can have up to 5 libraries.", True),
        ("How much does the pump weigh?", "Mass · 12 kg", True),
        ("How high is the fence?", "It is two metres high.", True),
        ("Since which version does it restart?", "It restarts since firmware 7.", True),
        (WATTS, "Power (W): 40", True),
        (WATTS, "it takes 2 kW", True),
        (METRES, "38 mm thick", True),
        ("How many litres does it hold?", "twenty litres", True),
        (WAIT, "Answers come within five (5) business days.", True),
        (WAIT, "Kurs: Yoga · Minuten: 60", True),
        (WAIT, "Les informations sont supprimées cinq ans après la fin de la cotisation.", True),
        (WAIT, "The offer is open until Friday.", True),
        (
            WAIT,
            "The longest time that the proxy waits for the server has a default of 3s.",
            True,
        ),
        (
            WAIT,
            "The pause before the proxy tries the next server has a default of 250ms.",
            True,
        ),
        (
            WAIT,
            "The proxies of the 1990s had no limits, and the servers had hardly any.",
            False,
        ),
        (WAIT, "The bridge is 200 m long and crosses the river near the old mill.", True),
        (WAIT, "Der Kurs dauert 2 Std. und kostet nichts für alle, die hier wohnen.", True),
        (WAIT, "There are 3 of them, and I'm one of those who know where they are.", False),
        (WAIT, "Auf dem Schiff finden bis zu 12 Passagiere in schönem Ambiente Platz.", False),
        (RECORDINGS, "Cameras within the building.", False),
        (RECORDINGS, "They are deleted within 30 days.", True),
        (OPEN, "Geöffnet 10–18 Uhr.", True),
        (OPEN, "Suds is open every Friday from 6 pm to 11 pm.", True),
        (OPEN, "It is closed during the winter.", True),
        (OPEN, "Applications close as soon as all places are taken.", True),
        (PAY, "Travel grant · Deadline: 15 Sept", True),
        (PAY, "jusqu'au 5 mars", True),
        (PAY, "drei Monate zum Quartalsende", True),
        (PAY, "There is no deadline.", True),
        (PAY, "Pay grades are in the schedule of series GS-0408-11 and GS-0408-12.", False),
        (PAY, "Pay plan: GS-0408-11", False),
        (PAY, "Pay 3 percent of the sum, and sign the form in the office of the dean.", False),
        (PAY, "Pay it on the 15th, and sign the form in the office of the dean.", True),
        (PAY, "Rent: 9-17", True),
        (PAY, "Pay before you hand in the form at the office of the dean and the chair.", True),
        (DAY, "Apply before you hand in the form at the office of the dean and the chair.", False),
        (DAY, "Apply as early as you can, although there is no requirement to apply.", False),
        (DAY, "Apply before 3 May at the office of the dean and the chair of the board.", True),
        (SERVER, "Connect to the server of the lab, and sign in with your key.", False),
        (SERVER, "Connect to vpn.lab.example, and sign in with your key.", True),
        (SERVER, "Connect to 10.0.3.1", True),
        (
            STAFF,
            "37signals has employees in many places, and they meet in a city each year.",
            False,
        ),
        (STAFF, "The company has 60 employees.", True),
        (STAFF, "직원은 60명입니다.", True),
        (
            COST,
            "We guarantee 99.99% uptime to all teams that work on the larger of the plans.",
            False,
        ),
        (COST, "The larger plan is $299 for all teams of a company, whatever their size is.", True),
        ("How much is the discount?", "Members get 10% on all that they buy in the shop.", True),
    ],
)
def test_a_text_has_a_value_of_the_kind_that_is_asked_for(question, text, has_it):
    assert asked_value(question).is_in(text) is has_it
